"""Names of the stages of the training benchmark: known before anything heavy is imported."""

STAGES = (
    "ppo_vs_sb3",
    "sac_vs_sb3",
    "ppo_vs_sb3_to_quality",
    "sac_vs_sb3_to_quality",
    "ppo_143x100k",
    "embed_143x2y",
    "her_sample_ms",
    "her_success_gain",
    "options_overhead",
    "growth",
    "es_vs_processes",
    "es_vs_sac",
    "vtrace_vs_ppo",
    "icm_overhead",
)
"""In the order in which they are measured; each gives the record of its name, `growth` and
`icm_overhead` several."""
