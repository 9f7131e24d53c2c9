"""Makes the reference cases for the Gaussian process of icee-bo, with BoTorch and GPyTorch in double precision.

    pip install botorch==0.18.1 scipy mpmath
    python tools/golden/gp.py            # writes crates/icee-bo/tests/golden/{gp,log_ei}.json

Each case of gp.json holds inputs, values already standardised as BoTorch does it, hyperparameters, and for those: the
log marginal likelihood, the log prior, the gradient of their sum with respect to every hyperparameter (of the
hyperparameter itself, not of its logarithm or of a raw parameter), and posterior mean and variance at test points.
`fitted` holds what `fit_gpytorch_mll` finds from its own start.
"""

import json
import pathlib

import mpmath
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior

torch.set_default_dtype(torch.float64)
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "crates/icee-bo/tests/golden"


def build(x, y):
    kernel = ScaleKernel(
        MaternKernel(nu=2.5, ard_num_dims=x.shape[1], lengthscale_prior=GammaPrior(3.0, 6.0)),
        outputscale_prior=GammaPrior(2.0, 0.15),
    )
    likelihood = GaussianLikelihood(
        noise_prior=GammaPrior(1.1, 0.05), noise_constraint=GreaterThan(1e-4, initial_value=1.0)
    )
    # The values are standardised before, so that nothing but the process itself is compared.
    return SingleTaskGP(x, y, likelihood=likelihood, covar_module=kernel, outcome_transform=None)


def objective(model):
    """Log marginal likelihood and log prior, both as sums, not divided by the number of points."""
    output = model(*model.train_inputs)
    likelihood = model.likelihood(output).log_prob(model.train_targets)
    prior = sum(prior.log_prob(closure(module)).sum() for _, module, prior, closure, _ in model.named_priors())
    return likelihood, prior


def parameters(model):
    return {
        "mean": model.mean_module.constant,
        "length_scales": model.covar_module.base_kernel.lengthscale,
        "output_scale": model.covar_module.outputscale,
        "noise": model.likelihood.noise,
    }


def evaluate(model, test):
    model.train()
    values = parameters(model)
    raw = {
        "mean": model.mean_module.raw_constant,
        "length_scales": model.covar_module.base_kernel.raw_lengthscale,
        "output_scale": model.covar_module.raw_outputscale,
        "noise": model.likelihood.noise_covar.raw_noise,
    }
    likelihood, prior = objective(model)
    total = torch.autograd.grad(likelihood + prior, list(raw.values()))
    gradient = {}
    for (name, parameter), d_raw in zip(raw.items(), total):
        # Every transform is softplus (plus a bound) except the mean's identity: d value / d raw is its slope.
        slope = torch.ones_like(parameter) if name == "mean" else torch.sigmoid(parameter)
        gradient[name] = (d_raw / slope).detach().flatten().tolist()
    model.eval()
    with torch.no_grad():
        posterior = model.posterior(test)
        mean, variance = posterior.mean.flatten().tolist(), posterior.variance.flatten().tolist()
    return {
        "parameters": {name: value.detach().flatten().tolist() for name, value in values.items()},
        "log_likelihood": likelihood.item(),
        "log_prior": prior.item(),
        "gradient": gradient,
        "posterior_mean": mean,
        "posterior_variance": variance,
    }


def case(generator, n, d, length_scales, output_scale, noise, mean, fit):
    x = torch.rand(n, d, generator=generator)
    raw = torch.sin(7 * x).sum(1) + 3 * (x[:, 0] - 0.4) ** 2 + 0.1 * torch.randn(n, generator=generator)
    y = ((raw - raw.mean()) / raw.std()).unsqueeze(1)
    test = torch.cat([torch.rand(6, d, generator=generator), x[:1]])
    model = build(x, y)
    model.mean_module.initialize(constant=mean)
    model.covar_module.base_kernel.lengthscale = torch.tensor(length_scales)
    model.covar_module.outputscale = output_scale
    model.likelihood.noise = noise
    result = {
        "inputs": x.tolist(),
        "raw_values": raw.tolist(),
        "values": y.flatten().tolist(),
        "test": test.tolist(),
        "given": evaluate(model, test),
    }
    if fit:
        model = build(x, y)
        fit_gpytorch_mll(
            ExactMarginalLogLikelihood(model.likelihood, model),
            optimizer_kwargs={"options": {"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-7}},
        )
        result["fitted"] = evaluate(model, test)
    return result


def log_ei():
    """log of φ(z) + zΦ(z) to 30 digits, from far left to far right."""
    mpmath.mp.dps = 60
    rows = []
    for z in [-1e6, -1e4, -300, -40, -12.5, -6, -3, -2, -1.5, -1.0001, -1, -0.9999, -0.5, -0.01, 0, 0.3, 1, 4, 9, 50, 1e5]:
        z = mpmath.mpf(z)
        if z < -100:
            # ∫Φ below z, by its asymptotic series φ(z)/z² (1 − 3/z² + 15/z⁴ − 105/z⁶ + …).
            series = 1 - 3 / z**2 + 15 / z**4 - 105 / z**6
            value = -z * z / 2 - mpmath.log(2 * mpmath.pi) / 2 - 2 * mpmath.log(-z) + mpmath.log(series)
        else:
            mpmath.mp.dps = 60 + (int(z * z / 4) if z < 0 else 0)
            value = mpmath.log(mpmath.npdf(z) + z * mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
            mpmath.mp.dps = 60
        rows.append([float(z), float(value)])
    return rows


def main():
    generator = torch.Generator().manual_seed(20)
    cases = [
        case(generator, 5, 2, [0.3, 0.7], 1.3, 1e-2, 0.1, True),
        case(generator, 20, 2, [0.05, 0.4], 0.6, 2e-4, -0.4, True),
        case(generator, 55, 2, [0.2, 1.5], 8.0, 1e-3, 0.7, True),
        case(generator, 12, 1, [0.15], 2.0, 5e-2, 0.0, True),
        case(generator, 40, 5, [0.5, 1.0, 0.8, 2.0, 0.3], 1.0, 0.2, 0.3, True),
        case(generator, 150, 8, [1.0] * 8, 3.0, 0.05, -1.0, False),
    ]
    (FOLDER / "gp.json").write_text(json.dumps(cases, indent=1) + "\n")
    (FOLDER / "log_ei.json").write_text(json.dumps(log_ei(), indent=1) + "\n")


if __name__ == "__main__":
    main()
