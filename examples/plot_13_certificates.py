"""
Certificates, and a run that the theorem does not cover
=======================================================

`plugplay.certify` checks the inequalities of the convergence proof on the iterates of a run, and says whether its
assumptions hold. A median over a fixed window does not become the identity as sigma goes to 0: it is not bounded,
and no theorem speaks for it.
"""

from matplotlib import pyplot as plt
from scipy.ndimage import median_filter
from skimage import data

import plugplay as pp

image = data.camera()[60:156, 170:266] / 255
camera = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.4))
y = camera.simulate(image, noise=3 / 255, rng=0)
term = camera.data_term(y)

# %%
# Total variation with a growing rho: covered.

tv = pp.denoisers.get("tv")
covered = pp.pnp_admm(term, tv, schedule=pp.Monotone(rho0=0.01, gamma=1.2), lam=2e-4, tol=1e-3, max_iter=60)
print(pp.certify(covered, term, tv))

# %%
# A median of 3 x 3 pixels, whatever sigma is: not covered, although rho grows in the same way.


def median(image, sigma):
    """Ignore sigma."""
    return median_filter(image, 3)


other = pp.pnp_admm(term, median, schedule=pp.Monotone(rho0=0.01, gamma=1.2), lam=2e-4, tol=1e-3, max_iter=60)
print(pp.certify(other, term, median))

# %%
# What happens to the change per iteration:

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.semilogy(covered.history.delta, label=f"tv: {covered.status.name}")
axes.semilogy(other.history.delta, label=f"median: {other.status.name}")
axes.axhline(1e-3, color="gray", linestyle=":", label="tolerance")
axes.set(xlabel="iteration", ylabel="change per iteration")
_ = axes.legend()
