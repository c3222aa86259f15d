"""Proof that nothing in the present was computed from the future.

Subjects claim outputs; the prover changes, truncates and poisons the future and compares the past
bit for bit; a certificate beside the panel records the result. The project's own subjects are in
`defaults`.
"""

from tradingbot.features.causality.certificate import (
    Certificate,
    PanelIdentity,
    issue_certificate,
    require_certificate,
    write_certificate,
)
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.report import CausalityReport, Offence, ProofVerdict
from tradingbot.features.causality.subject import (
    Fitted,
    ProofContext,
    ProofSubject,
    Rows,
    register_subject,
    registered_subjects,
    subject_names,
    unregister_subject,
)

__all__ = [
    "CausalityReport",
    "Certificate",
    "Fitted",
    "Offence",
    "PanelIdentity",
    "ProofContext",
    "ProofPlan",
    "ProofSubject",
    "ProofVerdict",
    "Rows",
    "issue_certificate",
    "prove_causal",
    "register_subject",
    "registered_subjects",
    "require_certificate",
    "subject_names",
    "unregister_subject",
    "write_certificate",
]
