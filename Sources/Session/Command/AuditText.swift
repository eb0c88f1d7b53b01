import HoldfastCommandKit
import HoldfastJSON
import HoldfastSessionAudit

/// The output of an audit's report.
enum AuditText {
  enum Form: Sendable {
    case text, json, markdown
  }

  static func print(_ report: AuditReport, as form: Form, _ call: Invocation) {
    switch form {
    case .json: json(report, call.console)
    case .markdown: for line in report.markdown { call.console.line(line.printable) }
    case .text: for line in lines(report, call.console.style) { call.console.line(line) }
    }
  }

  private static func json(_ report: AuditReport, _ console: Console) {
    for entry in report.entries {
      console.object {
        $0.entry("event", "practice")
        $0.entry("number", entry.practice.number)
        $0.entry("title", entry.practice.title)
        $0.entry("verdict", entry.verdict.rawValue)
        $0.entry("evidence", entry.evidence)
      }
    }
    console.object { writer in
      writer.entry("event", "summary")
      write(report.counts, to: &writer)
      writer.array("categories") { writer in
        for category in PracticeCategory.allCases {
          writer.object {
            $0.entry("title", category.rawValue)
            write(AuditReport.Counts(report.entries(of: category)), to: &$0)
          }
        }
      }
    }
  }

  private static func write(_ counts: AuditReport.Counts, to writer: inout JSONWriter) {
    writer.entry("met", counts.met)
    writer.entry("partly", counts.partly)
    writer.entry("not", counts.not)
    writer.entry("unseen", counts.unseen)
  }

  private static func lines(_ report: AuditReport, _ style: Style) -> [String] {
    var lines: [String] = []
    for category in PracticeCategory.allCases {
      lines.append(style.heading(category.heading))
      for entry in report.entries(of: category) {
        let verdict = entry.verdict.rawValue
        let label = verdict + String(repeating: " ", count: 7 - verdict.count)
        let number = (entry.practice.number < 10 ? " " : "") + "\(entry.practice.number)"
        let head = entry.verdict == .not ? style.alarm(label) : label
        lines.append("  \(head) \(number). \(entry.practice.title)")
        lines.append("              \(entry.evidence.printable)")
      }
    }
    var table = Table("CATEGORY", "MET", "PARTLY", "NOT", "UNSEEN")
    for category in PracticeCategory.allCases {
      row(category.rawValue, AuditReport.Counts(report.entries(of: category)), in: &table)
    }
    row("Total", report.counts, in: &table)
    return lines + [""] + table.lines(style)
  }

  private static func row(_ title: String, _ counts: AuditReport.Counts, in table: inout Table) {
    table.row(title, "\(counts.met)", "\(counts.partly)", "\(counts.not)", "\(counts.unseen)")
  }
}
