import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON

/// The results of the demo.
struct Ledger: Sendable, Hashable {
  /// The counts of messages, by outcome.
  var counts: Counts
  /// The outcomes of the faults, in order.
  var outcomes: [Outcome]
  /// The sections that scenarios added, in order.
  var sections: [LedgerSection]
  /// The faults that should be played, in order.
  var expected = Trouble.all
  /// Whether the phone followed the messages of the shop.
  var hasTraffic = true
  /// Descriptions of further failures.
  var faults: [String] = []

  /// Whether every promise was kept during every fault.
  var isClean: Bool {
    (!hasTraffic || counts.isClean) && sections.allSatisfy(\.isClean) && faults.isEmpty
      && outcomes.map(\.trouble) == expected && outcomes.allSatisfy(\.isHeld)
  }

  /// Returns the human-readable tables and the verdict.
  func lines(_ style: Style) -> [String] {
    var troubles = Table("", "trouble", "noticed after", "at most", "whole after", "at most")
    for outcome in outcomes {
      troubles.row(
        Self.mark(outcome.isHeld), outcome.trouble.title,
        outcome.bounds.noticed == nil ? "-" : Self.text(outcome.noticed, or: "never"),
        Self.text(outcome.bounds.noticed, or: "-"), Self.text(outcome.whole, or: "never"),
        Self.text(outcome.bounds.whole, or: "-"))
    }
    let counted = ((hasTraffic ? [counts.section] : []) + sections).map { section in
      var table = Table("", section.name, "")
      for row in section.rows where !row.isRare || !row.isGood {
        table.row(Self.mark(row.isGood), row.name, String(row.count))
      }
      return table
    }
    let all = ([troubles] + counted).flatMap { $0.lines(style) + [""] }
    let marked = all.map { $0.hasPrefix("\u{2717}") ? style.alarm($0) : $0 }
    return marked + faults.map { style.alarm("\u{2717}  \($0)") } + [action(style)]
  }

  private func action(_ style: Style) -> String {
    isClean
      ? style.heading("The ledger is clean: nothing lost, nothing twice, everything in order.")
      : style.alarm("The ledger is not clean.")
  }

  private static func mark(_ isGood: Bool) -> String { isGood ? "\u{2713}" : "\u{2717}" }

  private static func text(_ duration: Duration?, or none: String) -> String {
    duration.map(\.shown) ?? none
  }

  /// Writes the members of the ledger's JSON event.
  func write(to writer: inout JSONWriter) {
    writer.entry("clean", isClean)
    if hasTraffic { for row in counts.section.rows { writer.entry(row.key, row.count) } }
    for section in sections {
      writer.object(section.name) { for row in section.rows { $0.entry(row.key, row.count) } }
    }
    writer.array("troubles") { for outcome in outcomes { $0.object(outcome.write) } }
    writer.entry("faults", faults)
  }
}

/// A section of the ledger that a scenario adds.
struct LedgerSection: Sendable, Hashable {
  /// A row with a count, and whether the count is correct.
  struct Row: Sendable, Hashable {
    var name: String
    var key: String
    var count: Int
    var isGood: Bool
    /// Whether the row is printed only if the count is wrong.
    var isRare: Bool

    /// Creates a row.
    ///
    /// - Parameter key: The name in JSON; `nil` if it is the same as `name`.
    init(_ name: String, key: String? = nil, _ count: Int, isGood: Bool, isRare: Bool = false) {
      (self.name, self.key, self.count) = (name, key ?? name, count)
      (self.isGood, self.isRare) = (isGood, isRare)
    }
  }

  var name: String
  var rows: [Row]

  init(_ name: String, _ rows: [Row]) {
    self.name = name
    self.rows = rows
  }

  var isClean: Bool { !rows.isEmpty && rows.allSatisfy(\.isGood) }
}

extension Outcome {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("trouble", trouble.name)
    writer.entry("noticedAfter", noticed?.wholeMilliseconds)
    writer.entry("noticedAtMost", bounds.noticed?.wholeMilliseconds)
    writer.entry("wholeAfter", whole?.wholeMilliseconds)
    writer.entry("wholeAtMost", bounds.whole.wholeMilliseconds)
    writer.entry("held", isHeld)
  }
}

extension Duration {
  /// The duration in seconds, rounded down to whole milliseconds.
  var wholeMilliseconds: Double { Double(nanoseconds / 1_000_000) / 1000 }

  /// The duration in seconds with two decimal places, as the demo prints it.
  var shown: String { self < .milliseconds(10) ? "< 0.01 s" : "\(seconds(2)) s" }

  /// Returns the duration in seconds, rounded to `decimals` decimal places.
  func seconds(_ decimals: Int) -> String {
    var scale: Int64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let unit = 1_000_000_000 / scale
    let count = (max(nanoseconds, 0) + unit / 2) / unit
    let digits = String(count % scale)
    guard decimals > 0 else { return String(count) }
    let fraction = String(repeating: "0", count: decimals - digits.count) + digits
    return "\(count / scale).\(fraction)"
  }
}
