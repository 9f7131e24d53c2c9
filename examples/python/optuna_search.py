"""Settings of a forest, chosen by icee's sampler in Optuna.

pip install icee[optuna,sklearn]; python examples/python/optuna_search.py
"""

import optuna
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import cross_val_score

from icee.optuna import IceeSampler

X, y = load_diabetes(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    forest = ExtraTreesRegressor(
        n_estimators=20,
        bootstrap=trial.suggest_categorical("bootstrap", [True, False]),
        max_depth=trial.suggest_int("max_depth", 2, 20),
        max_features=trial.suggest_float("max_features", 0.1, 1.0),
        min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 32, log=True),
        random_state=0,
    )
    return cross_val_score(forest, X, y, cv=3).mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=IceeSampler(seed=0))
study.optimize(objective, n_trials=12)
print(f"best: R² {study.best_value:.3f} with {study.best_params}")
