import pytest
from lxml import etree

from model.drawing import drawing, label, svg


@pytest.mark.parametrize("label", ["busy", "PRDA total_response_ms of a long class"])
def test_every_label_of_the_legend_is_inside_the_drawing(label):
    figure, axes = drawing("CPU busy, %")
    for line in range(9):
        axes.plot([0, 1], [0, line], label=f"{label} {line}")
    assert svg(figure).count(f">{label} ") == 9
    (legend,) = figure.legends
    around = legend.get_window_extent()
    assert around.x0 >= 0 and around.x1 <= figure.bbox.width


@pytest.mark.parametrize("name", ["A$B$", "$TSO", "_OMVS", "CICS#HI", "ONL@A", r"A\$B", "_$a_b$", "<&>"])
def test_names_stand_in_a_drawing_as_they_are(name):
    figure, axes = drawing(name, name, name)
    axes.plot([1, 10], [1, 10], label=label(name))
    axes.plot([1, 10], [2, 20])
    axes.set_yscale("log")
    texts = [text.text for text in etree.fromstring(svg(figure)).iter("{*}text")]
    assert texts.count(name) == 4
