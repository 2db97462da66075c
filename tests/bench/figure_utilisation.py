"""How busy worlds are under a slow policy with a long tail: stepped in batches, and each episode alone."""

from __future__ import annotations

import json

from gym_anything.measure.utilisation_series import UtilisationRequest, measure_utilisation


def main() -> None:
    request = UtilisationRequest()
    summary = measure_utilisation(request).to_dict()
    conditions = (
        f"{request.replicas} simulated worlds, {request.episodes} episodes; policy {request.policy_times:g} times a step "
        f"of {request.step_s * 1000:g} ms, lognormal with sigma {request.sigma:g}"
    )
    print(json.dumps({"summary": summary, "series": {}, "conditions": conditions}))


if __name__ == "__main__":
    main()
