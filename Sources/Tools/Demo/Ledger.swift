import CommandKit
import LinkCore
import LinkJSON
import LinkWire

/// The end of the story in numbers.
public struct Ledger: Sendable, Hashable {
  /// What became of the messages.
  public var counts: Counts
  /// What became of each trouble that was played, in order.
  public var outcomes: [Outcome]
  /// What became of the assistant's questions.
  public var questions: Questions
  /// What else went wrong, in words.
  public var faults: [String] = []

  /// Whether every promise was kept through every trouble.
  public var isClean: Bool {
    counts.isClean && questions.isClean && faults.isEmpty
      && outcomes.map(\.trouble) == Trouble.allCases && outcomes.allSatisfy(\.isHeld)
  }

  /// The table for people, with one verdict at its end.
  func lines(_ style: Style) -> [String] {
    var troubles = Table("", "trouble", "noticed after", "at most", "whole after", "at most")
    for outcome in outcomes {
      troubles.row(
        Self.mark(outcome.isHeld), outcome.trouble.title,
        outcome.bounds.noticed == nil ? "-" : Self.text(outcome.noticed, or: "never"),
        Self.text(outcome.bounds.noticed, or: "-"), Self.text(outcome.whole, or: "never"),
        Self.text(outcome.bounds.whole, or: "-"))
    }
    var messages = Table("", "messages", "")
    for (name, count, isGood) in rows {
      messages.row(Self.mark(isGood), name, String(count))
    }
    var asked = Table("", "questions", "")
    for (name, count, isGood) in questions.rows {
      asked.row(Self.mark(isGood), name, String(count))
    }
    let all = [troubles, messages, asked].flatMap { $0.lines(style) + [""] }
    let marked = all.map { $0.hasPrefix("\u{2717}") ? style.alarm($0) : $0 }
    return marked + faults.map { style.alarm("\u{2717}  \($0)") } + [verdict(style)]
  }

  private var rows: [(name: String, count: Int, isGood: Bool)] {
    let counts = counts
    let rare = [("altered", counts.altered), ("unknown", counts.unknown)]
    return [
      ("sent", counts.sent, counts.sent > 0),
      ("shown", counts.shown, counts.shown == counts.sent),
    ]
      + [
        ("lost", counts.lost), ("duplicated", counts.duplicated),
        ("out of order", counts.outOfOrder),
      ].map { ($0.0, $0.1, $0.1 == 0) }
      + rare.filter { $0.1 != 0 }.map { ($0.0, $0.1, false) }
  }

  private func verdict(_ style: Style) -> String {
    isClean
      ? style.heading("The ledger is clean: nothing lost, nothing twice, everything in order.")
      : style.alarm("The ledger is not clean.")
  }

  private static func mark(_ isGood: Bool) -> String { isGood ? "\u{2713}" : "\u{2717}" }

  private static func text(_ duration: Duration?, or none: String) -> String {
    duration.map(\.told) ?? none
  }

  /// Members of the JSON object of the ledger.
  func write(to writer: inout JSONWriter) {
    writer.key("clean")
    writer.bool(isClean)
    for (name, count) in [
      ("sent", counts.sent), ("shown", counts.shown), ("lost", counts.lost),
      ("duplicated", counts.duplicated), ("outOfOrder", counts.outOfOrder),
      ("altered", counts.altered), ("unknown", counts.unknown),
    ] {
      writer.key(name)
      writer.int(count)
    }
    writer.key("questions")
    questions.write(to: &writer)
    writer.key("troubles")
    writer.beginArray()
    for outcome in outcomes { outcome.write(to: &writer) }
    writer.endArray()
    writer.key("faults")
    writer.beginArray()
    for fault in faults { writer.string(fault) }
    writer.endArray()
  }
}

extension Outcome {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("trouble")
    writer.string(trouble.rawValue)
    for (name, value) in [
      ("noticedAfter", noticed), ("noticedAtMost", bounds.noticed), ("wholeAfter", whole),
      ("wholeAtMost", bounds.whole),
    ] {
      writer.key(name)
      if let value { writer.double(value.wholeMilliseconds) } else { writer.null() }
    }
    writer.key("held")
    writer.bool(isHeld)
    writer.endObject()
  }
}

extension Duration {
  /// Seconds, cut to whole milliseconds.
  var wholeMilliseconds: Double { Double(nanoseconds / 1_000_000) / 1000 }

  /// As the story tells it: hundredths of a second.
  var told: String { self < .milliseconds(10) ? "< 0.01 s" : "\(seconds(2)) s" }

  /// Seconds with `places` decimals, rounded.
  func seconds(_ places: Int) -> String {
    var scale: Int64 = 1
    for _ in 0..<places { scale *= 10 }
    let unit = 1_000_000_000 / scale
    let count = (max(nanoseconds, 0) + unit / 2) / unit
    let digits = String(count % scale)
    guard places > 0 else { return String(count) }
    let fraction = String(repeating: "0", count: places - digits.count) + digits
    return "\(count / scale).\(fraction)"
  }
}
