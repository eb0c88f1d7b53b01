extension AuditReport {
  /// The report in Markdown, in the format of the review that defines the practices.
  public var markdown: [String] {
    [
      "# WebSocket Implementation Recommendations", "",
      "This document captures findings and recommendations from reviewing \(server) against best "
        + "practices, from outside.",
      "",
    ] + summary + ["", "## Findings"] + PracticeCategory.allCases.flatMap(section) + actions
  }

  private var summary: [String] {
    var lines = [
      "## Summary", "", "| Category | Reviewed | Gaps Found | Recommendations |",
      "|----------|----------|------------|-----------------|",
    ]
    for category in PracticeCategory.allCases {
      lines.append(Self.row(category.rawValue, Counts(entries(of: category))))
    }
    lines.append(Self.row("Total", counts))
    return lines + [
      "",
      "Of \(counts.all) practices \(counts.met) are met, \(counts.partly) partly, \(counts.not) "
        + "not, and \(counts.unseen) cannot be seen from outside; those are not reviewed.",
    ]
  }

  private static func row(_ title: String, _ counts: Counts) -> String {
    "| \(title) | \(counts.reviewed)/\(counts.all) | \(counts.gaps) | "
      + "\(counts.recommendations) |"
  }

  private func section(_ category: PracticeCategory) -> [String] {
    ["", "### \(category.heading)"] + entries(of: category).flatMap(Self.item)
  }

  private static func item(_ entry: Entry) -> [String] {
    let practice = entry.practice
    let probes = (practice.checked + practice.observed).map { "- `\($0.rawValue)`" }
    let gaps = numbered(entry.gaps.map(\.gap))
    let remedies = numbered(entry.gaps.map(\.remedy))
    return [
      "", "#### \(practice.number). \(practice.title)", "**Status**: \(entry.verdict.status)",
    ]
      + ["**Locations**:"] + (probes.isEmpty ? ["- none"] : probes)
      + ["", "**Findings**:", escaped(entry.evidence)]
      + ["", gaps.isEmpty ? "**Gaps**: None identified." : "**Gaps**:"] + gaps
      + ["", remedies.isEmpty ? "**Recommendations**: None." : "**Recommendations**:"] + remedies
  }

  private static func numbered(_ texts: [String]) -> [String] {
    texts.enumerated().map { "\($0 + 1). \($1)" }
  }

  /// Escapes a text from the server, so that it cannot form a heading or a link in the report.
  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      if "\\`*_[]<>|".contains(character) { result.append("\\") }
      result.append(character.isNewline ? " " : character)
    }
  }

  private var actions: [String] {
    ["", "## Recommended Actions"] + actions("High Priority", .not)
      + actions("Medium Priority", .partly)
      + ["", "### Low Priority / Nice to Have", "", "None."]
  }

  private func actions(_ heading: String, _ verdict: PracticeVerdict) -> [String] {
    let found = entries.filter { $0.verdict == verdict }
    let lines = found.map { entry in
      let remedies = entry.gaps.map(\.remedy).joined(separator: "; ")
      return "- **\(entry.practice.title)** (Item \(entry.practice.number)): \(remedies)"
    }
    return ["", "### \(heading)", ""] + (lines.isEmpty ? ["None."] : lines)
  }
}
