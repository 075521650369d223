"""Find out which files a host has to read.

A model is run on several hosts, and each of them needs only some of the
layers. `files_for` gets the weight map of an index, which gives the file of
each array, and the numbers of the layers that a host needs. It returns the
names of the files, sorted, each once. Arrays that belong to no layer, such
as the embedding, are needed by every host.
"""


def files_for(weight_map, layers):
    """Return the files that contain the arrays of these layers."""
    files = set()
    for name, file in weight_map.items():
        if any(f"{layer}" in name for layer in layers):  # your code here
            files.add(file)
    return sorted(files)


# Judged below: leave this part as it is.

weight_map = {"model.embed_tokens.weight": "model-00001-of-00004.safetensors"}
for layer in range(24):
    file = f"model-{layer // 8 + 2:05}-of-00004.safetensors"
    for part in ["self_attn.q_proj", "mlp.down_proj"]:
        weight_map[f"model.layers.{layer}.{part}.weight"] = file
weight_map["model.norm.weight"] = "model-00004-of-00004.safetensors"


def judge(what, layers, numbers):
    expected = [f"model-{n:05}-of-00004.safetensors" for n in numbers]
    found = files_for(weight_map, layers)
    message = f"{what}: found {found}, expected {expected}"
    assert found == expected, message


judge("no layer at all", [], [1, 4])
judge("layer 2", [2], [1, 2, 4])
judge("layer 1, which is not layer 10", [1], [1, 2, 4])
judge("layers 6 to 9", range(6, 10), [1, 2, 3, 4])
judge("layer 12", [12], [1, 3, 4])
judge("all of them", range(24), [1, 2, 3, 4])
found = files_for({"layers.0.w": "a", "layers.1.w": "b"}, [1])
assert found == ["b"], f"another model: found {found}, expected ['b']"
print("no host reads a file that it does not need")
