"""The sandbox of a local world: namespaces, mounts and ids, made by us."""
