"""Train PPO of Stable-Baselines3 in a Gymnasium environment of your bars (extra: train)."""

import tradingbot as tb

try:
    from stable_baselines3 import PPO
except ModuleNotFoundError:
    raise SystemExit("This needs Stable-Baselines3. Run: make install EXTRA=train") from None

bars = tb.generate_bars("planted", symbols=["SPY"], start="2025-01-02", kappa=0.3)  # synthetic
env = tb.make_env(bars, actions="target", reward="log_growth", observation="flat", episode_bars=128)
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, seed=1, device="cpu", verbose=0)
model.learn(1024)
observation, info = env.reset(seed=7)
ended = False
while not ended:
    action, _ = model.predict(observation, deterministic=True)
    observation, reward, terminated, truncated, info = env.step(action)
    ended = terminated or truncated
print(f"synthetic: {info['symbol']}, equity {info['equity']:,.0f} after 128 bars, barely trained")
