"""What a step of the large model takes under each policy, for `rehearse`.

Nothing of these sizes is made: the compiler gets shapes.
"""

import configs
import jax
import rehearse_sizes

POLICIES = jax.checkpoint_policies


def programs(devices):
    """Yield FSDP training steps that keep different activations."""
    rules = configs.Rules(batch="data", embed="data")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    with jax.set_mesh(mesh):  # in force while each step is lowered
        for name, policy in policies().items():
            remat = name != "everything"
            config = configs.large(
                rules=rules, remat=remat, remat_policy=policy
            )
            yield name, *rehearse_sizes.step_of(config)


def policies():
    """Return a policy by what it keeps of the activations of a block."""
    offload = POLICIES.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["block_input"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    return {
        "everything": None,  # and no jax.checkpoint
        "matmuls": POLICIES.dots_with_no_batch_dims_saveable,
        "two outputs": POLICIES.save_only_these_names("attention", "mlp"),
        "nothing": None,
        "inputs on the host": offload,
    }
