"""`tpustarter tpu` and `tpustarter trc`: a module per verb."""
