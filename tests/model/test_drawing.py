import pytest

from model.drawing import drawing, svg


@pytest.mark.parametrize("label", ["busy", "PRDA total_response_ms of a long class"])
def test_every_label_of_the_legend_is_inside_the_drawing(label):
    figure, axes = drawing("CPU busy, %")
    for line in range(9):
        axes.plot([0, 1], [0, line], label=f"{label} {line}")
    assert svg(figure).count(f">{label} ") == 9
    (legend,) = figure.legends
    around = legend.get_window_extent()
    assert around.x0 >= 0 and around.x1 <= figure.bbox.width
