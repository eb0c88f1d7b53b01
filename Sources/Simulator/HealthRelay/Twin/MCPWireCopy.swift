import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// A phone's answer as an assistant gets it, told a second time.
struct MCPWireCopy {
  private let kind: HealthQuestion.Kind
  private var lines: [RejectedMetric] = []
  private var members: [(name: String, bytes: [UInt8])] = []

  /// `nil` if the answer is no object.
  private init?(_ object: [UInt8], _ kind: HealthQuestion.Kind, _ rejected: [RejectedMetric]) {
    self.kind = kind
    // Earlier places come first, and of one place the line that was given first.
    for line in kind == .summary ? rejected : [] {
      lines.insert(line, at: lines.firstIndex { $0.place > line.place } ?? lines.count)
    }
    var reader = JSONReader(object)
    do throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        members.append((reader.text(of: key), try RelayWireFields.take(&reader, object)))
      }
      try reader.finish()
    } catch {
      return nil
    }
  }

  static func result(
    _ answer: HealthObject, _ kind: HealthQuestion.Kind, _ rejected: [RejectedMetric],
    _ window: ClosedRange<Timestamp>?
  ) -> MCPCallResult {
    guard let copy = MCPWireCopy(answer.bytes, kind, rejected) else {
      return MCPWireScribe.refused(
        "malformed", "The phone's answer cannot be read. Ask again.")
    }
    let hasResults = copy.members.contains { $0.name == "results" }
    let isError = !answer.succeeded && !hasResults
    let object = copy.object(window)
    return MCPCallResult(
      text: MCPWireScribe.repeated(Array(object.utf8)), structured: Array(object.utf8),
      brief: copy.brief(isError), isError: isError)
  }

  /// The last text of a name.
  private func text(_ name: String) -> String? {
    let texts = members.compactMap { member -> String? in
      guard member.name == name, case .text(let text)? = SessionTree(member.bytes) else {
        return nil
      }
      return text
    }
    return texts.last
  }

  private func brief(_ isError: Bool) -> String {
    if isError { return text("error_message") ?? "The phone did not answer the question." }
    if kind == .summary { return "The results of the summary are in structuredContent." }
    var count = 0
    for member in members where member.name == "count" {
      if case .number(let digits)? = SessionTree(member.bytes) { count = Int(digits) ?? 0 }
    }
    let given = text("value_type") ?? "health data"
    var type = ""
    type.unicodeScalars.append(contentsOf: given.unicodeScalars.prefix(1_000))
    return "\(count) points of \(type) are in structuredContent."
  }

  private func object(_ window: ClosedRange<Timestamp>?) -> String {
    var all: [String] = []
    func add(_ name: String, _ json: String) {
      all.append("\(SessionTree.text(name).json):\(json)")
    }
    for (name, bytes) in members {
      let json = String(decoding: bytes, as: UTF8.self)
      switch name {
      case "error_message" where !lines.isEmpty: continue
      case "success" where !lines.isEmpty: add(name, "false")
      case "health_data" where kind == .healthData: add("healthData", json)
      case "results": add(name, (try? results(RelayWireFields.elements(bytes))) ?? json)
      case _: add(name, json)
      }
    }
    if !lines.isEmpty {
      let begin = text("error_message").map { $0 + ", " } ?? "no answer for "
      let names = lines.map(\.valueType).joined(separator: ", ")
      add("error_message", SessionTree.text(begin + names).json)
    }
    for (name, value) in clock(window) { add(name, value.json) }
    return "{\(all.joined(separator: ","))}"
  }

  /// The results, and each rejected line at its place, or behind all of them.
  private func results(_ found: [[UInt8]]) -> String {
    var (left, lines) = (found, lines)
    var all: [String] = []
    while !left.isEmpty || !lines.isEmpty {
      if let line = lines.first, left.isEmpty || line.place <= all.count {
        all.append(
          RelayWireScribe.object([
            ("value_type", .text(line.valueType)), ("success", .flag(false)),
            ("error_message", .text(line.reason)),
          ]).json)
        lines.removeFirst()
      } else {
        all.append(String(decoding: left.removeFirst(), as: UTF8.self))
      }
    }
    return "[\(all.joined(separator: ","))]"
  }

  /// What is said of a phone's clock that is more than 30 s off.
  private func clock(_ window: ClosedRange<Timestamp>?) -> [(String, SessionTree)] {
    guard let window, let text = text("answered_at"),
      case .instant(let time, _)? = HealthTime(text)
    else { return [] }
    let half = Duration.seconds(30)
    let ahead = window.upperBound.duration(to: time)
    let behind = time.duration(to: window.lowerBound)
    guard ahead > half || behind > half else { return [] }
    let seconds = (ahead > half ? ahead : behind).components.seconds
    let word = ahead > half ? "ahead of" : "behind"
    let warning =
      "The phone's clock is \(seconds) s \(word) the server's: its days and times may be wrong."
    return [
      ("clock_difference_seconds", .number("\(ahead > half ? seconds : -seconds)")),
      ("clock_warning", .text(warning)),
    ]
  }
}
