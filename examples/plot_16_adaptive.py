"""
The adaptive rule at work
=========================

The paper's schedule multiplies rho by gamma whenever the change per iteration has not fallen by a factor of eta,
and leaves it alone where the loop makes progress by itself.
"""

from matplotlib import pyplot as plt
from skimage import data

import plugplay as pp

image = data.camera()[60:156, 170:266] / 255
camera = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
y = camera.simulate(image, noise=5 / 255, rng=0)

schedules = {
    "constant": pp.Constant(rho0=0.01),
    "monotone": pp.Monotone(rho0=1e-3, gamma=1.2),
    "adaptive, eta 0.95": pp.Adaptive(rho0=1e-3, gamma=1.2, eta=0.95),
    "adaptive, eta 0.5": pp.Adaptive(rho0=1e-3, gamma=1.2, eta=0.5),
}
runs = {
    name: pp.restore(y, camera, denoiser="tv", schedule=schedule, lam=2e-4, max_iter=60, reference=image)
    for name, schedule in schedules.items()
}

# %%
# Rho, the change per iteration, and the PSNR:

figure, places = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for name, run in runs.items():
    for place, values in zip(places, (run.history.rho, run.history.delta, run.history.psnr)):
        place.plot(values, label=name)
places[0].set(title="rho", yscale="log", xlabel="iteration")
places[1].set(title="change per iteration", yscale="log", xlabel="iteration")
places[2].set(title="PSNR (dB)", xlabel="iteration")
places[0].legend(fontsize="small")
for name, run in runs.items():
    print(f"{name:19} {run.history.psnr[-1]:.2f} dB after {len(run.history)} iterations, {run.status.name}")
