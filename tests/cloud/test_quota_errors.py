"""Names of quotas in words, from texts and from details."""

from __future__ import annotations

import pytest

from tpustarter.cloud.doctor import quota_errors
from tpustarter.cloud.doctor.quota_errors import ExceededQuota


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TPUV5sLitepodServingPerProjectPerZoneForTPUAPI", "v5e serving, on-demand, per zone"),
        ("TPUV5sLitepodPerProjectPerRegionForTPUAPI", "v5e training, on-demand, per region"),
        ("TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI", "v5e training, spot, per zone"),
        ("TPUV6EPreemptiblePerProjectPerRegionForTPUAPI", "v6e, spot, per region"),
        ("TPUV6EPerProjectPerZoneForTPUAPI", "v6e, on-demand, per zone"),
        ("TPUV5PPreemptiblePerProjectPerZoneForTPUAPI", "v5p, spot, per zone"),
        ("TPUV5PPerProjectPerRegionForTPUAPI", "v5p, on-demand, per region"),
        ("TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI", "v4, spot, per region"),
        ("TPUV4sReservedPodPerProjectPerZoneForTPUAPI", "v4, reserved, per zone"),
        ("TPUV2sPodPerProjectPerRegionForTPUAPI", "v2 slices, on-demand, per region"),
        ("TPUV3sPreemptiblePerProjectPerZoneForTPUAPI", "v3, spot, per zone"),
        ("IN_USE_ADDRESSES", "external addresses"),
        ("SomethingElsePerProject", "SomethingElsePerProject"),
    ],
)
def test_quota_names_become_words(name: str, expected: str) -> None:
    """Names that were met in public reports become generation, tier and place."""
    assert expected == quota_errors.describe_quota(name)


def test_text_with_two_quotas_gives_both_with_places() -> None:
    """Names, limits and places are three lists that belong together."""
    text = (
        "Quota limit 'TPUV2sPodPerProjectPerRegionForTPUAPI,TPUV2sPodPerProjectPerZoneForTPUAPI' "
        "has been exceeded. Limit: 0,32 in region us-central1,zone us-central1-a."
    )

    assert [
        "v2 slices, on-demand, per region: limit 0 in region us-central1",
        "v2 slices, on-demand, per zone: limit 32 in zone us-central1-a",
    ] == [str(one) for one in quota_errors.parse_quotas(text)]


def test_quota_details_replace_missing_text() -> None:
    """Descriptions, newer fields and metadata say the same."""
    from google.rpc import error_details_pb2

    name = "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI"
    described, fields = error_details_pb2.QuotaFailure(), error_details_pb2.QuotaFailure()
    described.violations.add(description=f"Quota '{name}' exhausted. Limit 64 in zone us-east1-d")
    fields.violations.add(
        quota_id=name, quota_value=8, quota_dimensions={"zone": "us-east5-a", "region": "us-east5"}
    )
    info = error_details_pb2.ErrorInfo(
        reason="RATE_LIMIT_EXCEEDED",
        metadata={"quota_limit": "CreatePerMinute", "quota_limit_value": "91"},
    )

    assert (ExceededQuota(name, 64, "zone us-east1-d"),) == quota_errors.parse_quotas(
        "Resource exhausted", [described]
    )
    assert (ExceededQuota(name, 8, "zone us-east5-a"),) == quota_errors.parse_quotas(
        "Resource exhausted", [fields]
    )
    assert (ExceededQuota("CreatePerMinute", 91),) == quota_errors.parse_quotas("Too many", [info])
    assert 1 == len(
        quota_errors.parse_quotas(described.violations[0].description, [described, fields])
    )


@pytest.mark.parametrize("text", ["", "Quota", "Quota 'x' has been exceeded. Limit: in zone"])
def test_other_texts_name_no_quota(text: str) -> None:
    """Other texts name no quota, and nothing is guessed."""
    assert () == quota_errors.parse_quotas(text)
