"""What is learned of a rewriter, against rewriters whose bias and spread are known."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.online import ItemPosterior
from benchfill.calibration.rewriter_record import Hit, RewriterRecord, choose_parents

NOTHING = RewriterRecord(())


def hits(
    count: int, *, bias: float = 0.0, near: float = 0.02, growth: float = 0.0, error: float = 0.005, seed=1
):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        parent = 0.5 + rng.uniform(-0.2, 0.2)
        spread = np.hypot(near, growth * (parent - 0.5))
        found.append(Hit(0.5, parent, 0.5 + bias + rng.normal(0, spread) + rng.normal(0, error), error))
    return tuple(found)


def test_nothing_known_is_the_assumed_scale_around_the_target():
    prior = NOTHING.prior(0.4, 0.4)
    assert (prior.center, prior.scale, prior.df) == (0.4, 0.15, 4.0)
    assert NOTHING.prior(0.4, 0.6).scale > prior.scale


def test_a_bias_is_learned_and_moves_the_centre():
    prior = RewriterRecord(hits(60, bias=0.06)).prior(0.5, 0.5)
    assert prior.center == pytest.approx(0.56, abs=0.012)


def test_the_spread_is_learned_and_few_hits_are_not_believed():
    few, many = (RewriterRecord(hits(n, near=0.02)).prior(0.5, 0.5).scale for n in (2, 100))
    assert many < few < 0.15
    # A normal's central half lies within 0.6745 sd, that of a t with 4 df within 0.741 of its scale.
    assert 0.75 < many / (0.02 * 0.6745 / 0.741) < 1.4


@pytest.mark.parametrize("seed", range(4))
def test_the_prior_is_never_narrower_than_what_was_observed(seed: int):
    """Its central half and nine tenths hold as many of the hits they were learned from."""
    found = hits(60, near=0.05, seed=seed)
    record = RewriterRecord(found)
    for level, quantile in ((0.5, 0.741), (0.9, 2.132)):
        priors = [record.prior(hit.target, hit.parent) for hit in found]
        inside = [abs(h.landed - p.center) <= quantile * p.scale for h, p in zip(found, priors, strict=True)]
        assert np.mean(inside) >= level - 0.04


def test_a_heavy_tail_does_not_blow_up_the_scale():
    some = [*hits(40, near=0.02), Hit(0.5, 0.5, 0.95, 0.005)]
    assert RewriterRecord(tuple(some)).prior(0.5, 0.5).scale < 0.03


def test_badly_measured_hits_are_not_mistaken_for_a_wide_spread():
    rng = np.random.default_rng(3)
    found = tuple(Hit(0.5, 0.5, 0.5 + rng.normal(0, 0.02) + rng.normal(0, 0.08), 0.08) for _ in range(80))
    assert RewriterRecord(found).prior(0.5, 0.5).scale < 0.05


def test_spread_that_grows_with_the_distance_prefers_near_parents():
    record = RewriterRecord(hits(80, near=0.01, growth=0.4))
    assert record.prior(0.5, 0.8).scale > 2 * record.prior(0.5, 0.5).scale
    near, far = record.promise(0.5, 0.01, np.array([0.5, 0.8]), np.zeros(2))
    assert near > 2 * far


def test_promises_are_those_of_the_priors():
    rng = np.random.default_rng(1)
    parents, errors = rng.uniform(0, 1, 50), rng.uniform(0, 0.2, 50)
    for record in (NOTHING, RewriterRecord(hits(3)), RewriterRecord(hits(60, near=0.02, growth=0.4))):
        priors = [record.prior(0.4, *place) for place in zip(parents.tolist(), errors.tolist(), strict=True)]
        expected = [prior.chance_within(0.4, 0.05) for prior in priors]
        np.testing.assert_allclose(record.promise(0.4, 0.05, parents, errors), expected, rtol=1e-12)


def test_the_order_of_hits_does_not_matter():
    some = hits(12)
    assert RewriterRecord(some).prior(0.5, 0.45) == RewriterRecord(some[::-1]).prior(0.5, 0.45)


def originals(*places: float):
    return [(f"i{n}", z, 0.0, True) for n, z in enumerate(places)]


def test_parents_are_nearest_and_differ_while_nothing_is_known():
    assert choose_parents(NOTHING, originals(0.1, 0.3, 0.45, 0.75, 0.95), 0.5, 0.01, 3) == ["i2", "i1", "i3"]


def test_a_hardly_measured_child_is_not_taken_for_near():
    places = [("sure", 0.45, 0.0, True), ("o", 0.9, 0.0, True), ("vague", 0.5, 0.3, False)]
    assert choose_parents(NOTHING, places, 0.5, 0.01, 2)[0] == "sure"


def test_one_parent_in_four_is_an_original():
    children = [(f"c{n}", 0.5 + n / 1000, 0.001, False) for n in range(6)]
    chosen = choose_parents(NOTHING, [("o1", 0.1, 0.0, True), *children], 0.5, 0.01, 4)
    assert "o1" in chosen
    assert len(set(chosen)) == 4


def test_fewer_items_than_writers_share_parents():
    places = [("a", 0.1, 0.0, True), ("b", 0.9, 0.0, True)]
    assert choose_parents(NOTHING, places, 0.2, 0.01, 3) == ["a", "b", "a"]
    assert choose_parents(NOTHING, [], 0.2, 0.01, 3) == []


def near_misses(count: int, *, apart: float, error: float, seed: int = 1):
    """Hits of a rewriter that stays ``apart`` or more from its targets, on both sides."""
    rng = np.random.default_rng(seed)
    off = (apart + np.abs(rng.normal(0, 0.02, count))) * rng.choice([-1, 1], count)
    return tuple(Hit(0.5, 0.5, 0.5 + each + rng.normal(0, error), error) for each in off)


def test_a_rewriter_that_never_comes_near_is_found_out_and_its_lucky_item_is_not_believed():
    posterior = lucky()
    before = posterior.expected_deviation(0.5)
    record = RewriterRecord(near_misses(40, apart=0.04, error=0.015))
    kept = record.kept(0.015)
    assert sum(kept.chances) > 0.99
    assert kept.seen(posterior, record.prior(0.5, 0.5), 0.5).expected_deviation(0.5) > 2 * before


def test_a_rewriter_that_hits_is_not_suspected():
    record = RewriterRecord(hits(40, near=0.05, error=0.015))
    assert sum(record.kept(0.015).chances) < 0.01
    posterior = lucky()
    seen = record.kept(0.015).seen(posterior, record.prior(0.5, 0.5), 0.5)
    assert seen.expected_deviation(0.5) == pytest.approx(posterior.expected_deviation(0.5), rel=0.01)


def test_without_hits_nothing_is_suspected():
    assert sum(NOTHING.kept(0.015).chances) == 0.0


def lucky() -> ItemPosterior:
    """An item that truly may lie at 0.54, by answers that put it at 0.51."""
    z = np.linspace(0.4, 0.6, 401)
    weight = np.exp(-(((z - 0.51) / 0.013) ** 2) / 2)
    return ItemPosterior(z, weight / weight.sum())
