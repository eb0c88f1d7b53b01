"""The rows of an answer, and what differs from the wanted numbers."""

from collections import defaultdict


def rows(answer):
    """Returns the points or rows of an answer, each as one flat object."""
    points = answer.get("healthData", answer.get("health_data"))
    if points is None:
        return [
            {**answer["common"], **dict(zip(answer["columns"], row))} for row in answer["rows"]]
    flat = []
    for point in points:
        row = {}
        for name, value in point.items():
            if isinstance(value, dict):
                prefix = "" if name in ("value", "sleep") else name + "_"
                row.update({prefix + inner: number for inner, number in value.items()})
            else:
                row[name] = value
        flat.append(row)
    return flat


def parts(answer):
    """Returns the rows of each metric of a summary."""
    found = defaultdict(list)
    for result in answer["results"]:
        assert result["success"], result
        found[result["value_type"]] = rows(result["data"])
    return found


class Check:
    def __init__(self):
        self.compared, self.failed = 0, 0

    def equal(self, question, what, found, wanted):
        self.compared += 1
        if found is None or wanted is None:
            good = found is None and wanted is None
        elif isinstance(wanted, str):
            good = found == wanted
        else:
            # Counts are whole numbers, and other numbers have four decimals.
            good = abs(found - wanted) <= max(6e-4, 1e-6 * abs(wanted))
        if not good:
            self.failed += 1
            print(f"{question}: {what} is {found}, and the export has {wanted}")

    def rows(self, question, found, names, wanted):
        """Compares rows with wanted ones. `names` are the columns that identify a row."""

        def key(row):
            return tuple(row.get(name) for name in names)

        found = {key(row): row for row in found}
        self.equal(question, "the number of rows", len(found), len(wanted))
        for at, numbers in wanted.items():
            row = found.get(at, {})
            for name, value in numbers.items():
                self.equal(question, f"{name} of {at}", row.get(name), value)
