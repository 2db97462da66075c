"""Environments as Gymnasium's ``Env`` and ``VectorEnv``. Importing this registers them. Needs the extra ``gymnasium``.

::

    import gymnasium
    import gym_anything.integrations.gymnasium

    env = gymnasium.make("gym_anything/Computer-v0", env="my_env", task="my_task")
    envs = gymnasium.make_vec("gym_anything/Computer-v0", num_envs=16, env="my_env", tasks=["one", "two"])

Or without the second import: ``gymnasium.make("gym_anything.integrations.gymnasium:gym_anything/Computer-v0", …)``.
"""

try:
    import gymnasium as _gymnasium
except ModuleNotFoundError as _error:
    if _error.name != "gymnasium":
        raise
    from gym_anything.errors import MissingExtra

    raise MissingExtra(
        "Gymnasium is not installed; pip install 'gym-anything[gymnasium]'", detail={"extra": "gymnasium"}
    ) from _error

ID = "gym_anything/Computer-v0"

if ID not in _gymnasium.registry:
    _gymnasium.register(
        ID,
        entry_point="gym_anything.integrations.gymnasium.env:ComputerEnv",
        vector_entry_point="gym_anything.integrations.gymnasium.vector_env:ComputerVectorEnv",
        nondeterministic=True,  # clocks, blinking cursors, programs that take their time
    )
