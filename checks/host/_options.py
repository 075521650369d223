"""Every option of JAX that a variable sets, and every documented flag of XLA that changes results.

Options: all of `jax.config` in jax 0.6.2, 0.10.2 and 0.12.0.1, in capitals, as read off
https://github.com/jax-ml/jax/blob/main/jax/_src/config.py. Flags: `XLA_FLAGS=--help` of jaxlib.
"""

RESULTS = {
    "JAX2TF_ASSOCIATIVE_SCAN_REDUCTIONS": "computes cumulative sums in another order",
    "JAX_ACCURATE_ERF_INV": "uses another algorithm for erf_inv",
    "JAX_BCOO_CUSPARSE_LOWERING": "multiplies sparse matrices with another library",
    "JAX_DEFAULT_DTYPE_BITS": "changes the default width of dtypes",
    "JAX_DEFAULT_MATMUL_PRECISION": "changes the precision of matmuls that don't set their own",
    "JAX_DEFAULT_PRNG_IMPL": "changes every random number",
    "JAX_DISABLE_JIT": "compiles and runs each operation on its own, without jit",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "compiles without most optimisations",
    "JAX_ENABLE_X64": "keeps 64-bit types, which a TPU only emulates",
    "JAX_EXEC_TIME_OPTIMIZATION_EFFORT": "changes what the compiler optimises",
    "JAX_EXPLICIT_X64_DTYPES": "decides whether 64-bit types may be requested",
    "JAX_HIGH_DYNAMIC_RANGE_GUMBEL": "changes the numbers of random.gumbel and categorical",
    "JAX_NO_EXECUTION": "prevents programs from being executed",
    "JAX_OPTIMIZATION_LEVEL": "changes what the compiler optimises",
    "JAX_PALLAS_POISON_BUFFERS": "fills buffers of Pallas kernels before they are used",
    "JAX_RANDOM_SEED_OFFSET": "is added to every seed",
    "JAX_SOFTMAX_CUSTOM_JVP": "uses another formula for the gradient of softmax",
    "JAX_SORT_DEVICES_BY_PROCESS_INDEX": "changes the order of the devices",
    "JAX_THREEFRY_GPU_KERNEL_LOWERING": "generates random numbers with another kernel on GPUs",
    "JAX_THREEFRY_PARTITIONABLE": "if off, gives the random numbers of JAX before 0.5",
    "JAX_USE_HLO_LOGISTIC_LOWERING": "lowers the logistic function differently",
    "JAX_USE_MAGMA": "computes eigenvalues on GPUs with another library",
    "JAX_USE_SHARDY_PARTITIONER": "chooses the partitioner of the compiler",
    "JAX_XLA_PROFILE_VERSION": "compiles with a profile of earlier runs",
}
"""Options that change numbers, their types or the order of devices."""

REFUSALS = {
    "JAX_ALLOW_F16_REDUCTIONS": "if off, refuses 16-bit reductions",
    "JAX_ARRAY_GARBAGE_COLLECTION_GUARD": "reports arrays that sit in reference cycles",
    "JAX_AUTO_PCAST": "if off, refuses shard_map code without an explicit pcast",
    "JAX_CHECK_STATIC_INDICES": "refuses indices that are out of bounds",
    "JAX_CHECK_TRACER_LEAKS": "refuses tracers that outlive their trace, and is slow",
    "JAX_DEBUG_INFS": "stops at the first infinity",
    "JAX_DEBUG_KEY_REUSE": "stops where a random key is used twice",
    "JAX_DEBUG_NANS": "stops at the first NaN",
    "JAX_DEFAULT_DEVICE": "names the device that arrays and programs start on",
    "JAX_DISABLE_BWD_CHECKS": "skips type checks of gradients",
    "JAX_DISABLE_VMAP_SHMAP_ERROR": "skips a check of vmap over shard_map",
    "JAX_DISALLOW_MESH_CONTEXT_MANAGER": "refuses `with mesh:`",
    "JAX_DYNAMIC_SHAPES": "turns on dynamic shapes, known only when a program runs",
    "JAX_ENABLE_CHECKS": "checks JAX's own invariants, and is slow",
    "JAX_ENABLE_CUSTOM_PRNG": "gives random keys their own dtype, which older code refuses",
    "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE": "decides whether a division by zero stops a program",
    "JAX_ERROR_CHECKING_BEHAVIOR_NAN": "decides whether a NaN stops a program",
    "JAX_ERROR_CHECKING_BEHAVIOR_OOB": "decides whether an index out of bounds stops a program",
    "JAX_EXPERIMENTAL_UNSAFE_XLA_RUNTIME_ERRORS": "lets checkify's checks end the process",
    "JAX_LEGACY_PRNG_KEY": "decides whether random keys without a key dtype are accepted",
    "JAX_MUTABLE_ARRAY_CHECKS": "decides whether several references to one array are allowed",
    "JAX_NO_TRACING": "refuses to compile anything new",
    "JAX_NUMPY_DTYPE_PROMOTION": "decides whether arrays of different dtypes may be combined",
    "JAX_NUMPY_RANK_PROMOTION": "decides whether arrays of different ranks may be combined",
    "JAX_PALLAS_ENABLE_DEBUG_CHECKS": "runs the debug checks of Pallas kernels",
    "JAX_RAISE_ON_PPERMUTE_SORT_DIFF": "decides whether ppermute's axes may be in any order",
    "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "raises an error if the compilation cache fails",
    "JAX_REMOVE_SIZE_ONE_MESH_AXIS_FROM_TYPE": "drops mesh axes of one device from types",
    "JAX_THREAD_GUARD": "refuses multi-host programs that another thread starts",
    "JAX_TRANSFER_GUARD": "decides whether arrays may move between host and device",
    "JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE": "decides whether arrays may move between devices",
    "JAX_TRANSFER_GUARD_DEVICE_TO_HOST": "decides whether arrays may move to the host",
    "JAX_TRANSFER_GUARD_HOST_TO_DEVICE": "decides whether arrays may move to a device",
}
"""Options that make working programs fail, or failing programs run."""

FLAGS = {
    "xla_allow_excess_precision": "decides whether results may keep more bits than requested",
    "xla_backend_optimization_level": "changes what the compiler optimises",
    "xla_cpu_enable_fast_math": "lets the compiler ignore NaN, infinity and the order of additions",
    "xla_cpu_enable_fast_min_max": "decides whether min and max keep NaN",
    "xla_cpu_enable_platform_dependent_math": "lets results differ from CPU to CPU",
    "xla_cpu_ftz": "decides whether subnormal numbers become zero",
    "xla_cpu_strict_dot_conv_math": "decides in which dtype 16-bit products are accumulated",
    "xla_detect_unstable_reductions": "decides whether 16-bit reductions are refused",
    "xla_disable_all_hlo_passes": "skips compiler passes, even those it needs",
    "xla_disable_hlo_passes": "skips compiler passes",
    "xla_enable_fast_math": "lets the compiler ignore NaN and infinity",
    "xla_enable_hlo_passes_only": "skips compiler passes",
    "xla_gpu_autotune_level": "decides how kernels are chosen, and so the order of additions",
    "xla_gpu_deterministic_ops": "makes reductions on GPUs deterministic",
    "xla_gpu_enable_fast_min_max": "decides whether min and max keep NaN",
    "xla_gpu_exclude_nondeterministic_ops": "refuses nondeterministic kernels",
    "xla_gpu_ftz": "decides whether subnormal numbers become zero",
    "xla_jf_conv_full_precision": "multiplies in float32, six times slower",
    "xla_reduce_window_rewrite_base_length": "computes windowed sums in another order",
    "xla_tpu_bf16_emission_mode": "decides whether bfloat16 is computed as float32",
    "xla_tpu_detect_nan": "stops at the first NaN",
    "xla_tpu_detect_inf": "stops at the first infinity",
    "xla_tpu_spmd_rng_bit_generator_unsafe": "lets random numbers depend on the sharding",
}
"""`xla_jf_conv_full_precision`: https://github.com/google-research/swirl-lm; the last one:
https://docs.jax.dev/en/latest/jax.random.html; detect: xla/xla.proto in openxla/xla."""

DEFAULTS = {
    "JAX_ALLOW_F16_REDUCTIONS": "1", "JAX_AUTO_PCAST": "1", "JAX_DEFAULT_PRNG_IMPL": "threefry2x32",
    "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE": "ignore", "JAX_ERROR_CHECKING_BEHAVIOR_NAN": "ignore",
    "JAX_ERROR_CHECKING_BEHAVIOR_OOB": "ignore", "JAX_EXPLICIT_X64_DTYPES": "warn",
    "JAX_LEGACY_PRNG_KEY": "allow", "JAX_MUTABLE_ARRAY_CHECKS": "1",
    "JAX_NUMPY_DTYPE_PROMOTION": "standard", "JAX_NUMPY_RANK_PROMOTION": "allow",
    "JAX_OPTIMIZATION_LEVEL": "UNKNOWN",
    "JAX_RAISE_ON_PPERMUTE_SORT_DIFF": "1", "JAX_SORT_DEVICES_BY_PROCESS_INDEX": "1",
    "JAX_THREEFRY_PARTITIONABLE": "1", "JAX_TRANSFER_GUARD": "allow", "JAX_USE_MAGMA": "auto",
    "JAX_USE_SHARDY_PARTITIONER": "1",
}  # fmt: skip
"""The defaults of these options; the others are off, 0 or unset by default."""

OTHERS = """
    CHECK_VMA EAGER_CONSTANT_FOLDING JAX2TF_DEFAULT_NATIVE_SERIALIZATION BACKEND_TARGET
    CAPTURED_CONSTANTS_REPORT_FRAMES CAPTURED_CONSTANTS_WARN_BYTES CHECK_PROXY_ENVS
    COMPILATION_CACHE_CHECK_CONTENTS COMPILATION_CACHE_DIR COMPILATION_CACHE_EXPECT_PGLE
    COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY COMPILATION_CACHE_MAX_SIZE
    COMPILER_DETAILED_LOGGING_MIN_OPS COMPILER_ENABLE_REMAT_PASS
    CPU_COLLECTIVES_IMPLEMENTATION CPU_ENABLE_ASYNC_DISPATCH CPU_ENABLE_GLOO_COLLECTIVES
    CPU_GET_GLOBAL_TOPOLOGY_TIMEOUT_MINUTES CPU_GET_LOCAL_TOPOLOGY_TIMEOUT_MINUTES
    CROSS_HOST_TRANSFER_SOCKET_ADDRESS CROSS_HOST_TRANSFER_TIMEOUT_SECONDS
    CROSS_HOST_TRANSFER_TRANSFER_SIZE CROSS_HOST_TRANSPORT_ADDRESSES CUDA_VISIBLE_DEVICES
    CUSTOM_JVP3 CUSTOM_VJP3 CUSTOM_VJP_DISABLE_SHAPE_CHECK
    DEBUG_LEAKED_CLIENTS_ON_CLEAR_BACKENDS DEBUG_LOG_MODULES DISTRIBUTED_DEBUG
    DISTRIBUTED_VERIFY_SECURE_CREDENTIALS DUMP_IR_MODES DUMP_IR_TO
    EMBEDDED_CONSTANTS_MAX_BYTES ENABLE_COMPILATION_CACHE
    ENABLE_CUSTOM_VJP_BY_CUSTOM_TRANSPOSE ENABLE_EMPTY_ARRAYS ENABLE_PGLE
    ENABLE_PREEMPTION_SERVICE ENABLE_RECOVERABILITY EXPLAIN_CACHE_MISSES
    EXPORT_CALLING_CONVENTION_VERSION EXPORT_DESERIALIZE_EXPIRED_VERSIONS
    EXPORT_IGNORE_FORWARD_COMPATIBILITY FORCE_DCN_CROSS_HOST_TRANSFERS
    HLO_SOURCE_FILE_CANONICALIZATION_REGEX INCLUDE_DEBUG_INFO_IN_DUMPS
    INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS LOGGING_LEVEL LOG_CHECKPOINT_RESIDUALS LOG_COMPILES
    MEMORY_FITTING_EFFORT MEMORY_FITTING_LEVEL MOCK_GPU_TOPOLOGY MOSAIC_ALLOW_HLO
    MOSAIC_UNZIP_DEBUG_LOCATIONS MTLS_CA_FILE MTLS_CERT_FILE MTLS_KEY_FILE
    MTLS_PEER_URI_PREFIX NUM_CPU_DEVICES ONEAPI_VISIBLE_DEVICES
    PALLAS_AUTO_ASSIGN_COLLECTIVE_IDS PALLAS_AUTO_ASSIGN_COLLECTIVE_IDS_LIMIT
    PALLAS_USE_MOSAIC_GPU PALLAS_VERBOSE_ERRORS PERSISTENT_CACHE_ENABLE_XLA_CACHES
    PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES
    PGLE_AGGREGATION_PERCENTILE PGLE_PROFILING_RUNS PJRT_CLIENT_CREATE_OPTIONS PLATFORMS
    PLATFORM_NAME PMAP_NO_RANK_REDUCTION PMAP_SHMAP_MERGE PPRINT_USE_COLOR
    RAGGED_DOT_USE_GPU_PALLAS_TRITON_LOWERING RAGGED_DOT_USE_RAGGED_DOT_INSTRUCTION
    REFS_TO_PINS REMAT3 REMAT_BARRIER_NO_COTANGENTS
    REMOVE_CUSTOM_PARTITIONING_PTR_FROM_CACHE_KEY ROCM_VISIBLE_DEVICES SCAN3
    SEND_TRACEBACK_TO_RUNTIME SERIALIZATION_VERSION SHARE_BINARY_BETWEEN_HOSTS
    SHARE_BINARY_BETWEEN_HOSTS_TIMEOUT_MS SOURCE_URL_SCHEMA TRACEBACK_FILTERING
    TRACEBACK_IN_LOCATIONS_LIMIT TRACER_ERROR_NUM_TRACEBACK_FRAMES USE_CPP_SHARD_ARGS
    USE_DIRECT_LINEARIZE USE_EMIT_PIPELINE_PRIMITIVE USE_RGV3 USE_SIMPLIFIED_JAXPR_CONSTANTS
    XLA_BACKEND MOCK_NUM_GPU_PROCESSES
""".split()  # noqa: SIM905  a hundred names in quotes are harder to read
"""The other options, most without their prefix JAX_: speed, memory, logs, paths, compilation."""
