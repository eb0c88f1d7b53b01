import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// What an assistant is told of a phone's answer.
extension MCPHouse.Result {
  /// A value with line ends between its parts, which no tree keeps.
  static let notes = "[\n1,\r\n2]"

  init(
    _ data: HealthObject, of job: MCPHouse.Job, from first: Timestamp, to last: Timestamp
  ) {
    guard let tree = SessionTree(data.bytes), case .object(let members) = tree else {
      self = .refused("malformed", "The phone's answer cannot be read. Ask again.")
      return
    }
    let all = MCPMembers(tree)
    let isSummary = job.tool == .getSummary
    var parts = members.compactMap { Self.part($0, job.rejected, isSummary) }
    let reason = all.text("error_message")
    if !job.rejected.isEmpty {
      let names = job.rejected.map(\.valueType).joined(separator: ", ")
      let words = (reason.map { "\($0), " } ?? "no answer for ") + names
      parts.append("\"error_message\":\(SessionTree.text(words).json)")
    }
    parts += Self.clock(all.text("answered_at"), first, last)
    let object = "{\(parts.joined(separator: ","))}"
    let isError = !data.succeeded && all["results"] == nil
    var brief = "The results of the summary are in structuredContent."
    if !isSummary {
      var count = 0
      if case .number(let digits)? = all["count"] { count = Int(digits) ?? 0 }
      let type = all.text("value_type") ?? "health data"
      brief = "\(count) points of \(type) are in structuredContent."
    }
    if isError { brief = reason ?? "The phone did not answer the question." }
    self.init(text: object, object: object, brief: brief, isError: isError)
  }

  /// A member as it is told; the lines that were not asked stand each at its place.
  private static func part(
    _ member: SessionBranch, _ rejected: [RejectedMetric], _ isSummary: Bool
  ) -> String? {
    if member.name == "notes" { return "\"notes\":\(notes)" }
    let name = !isSummary && member.name == "health_data" ? "healthData" : member.name
    var value = member.value
    if !rejected.isEmpty {
      if name == "error_message" { return nil }
      if name == "success" { value = .flag(false) }
      if name == "results", case .list(var lines) = value {
        for line in rejected {
          let failed = MCPWords.object([
            ("value_type", .text(line.valueType)), ("success", .flag(false)),
            ("error_message", .text(line.reason)),
          ])
          lines.insert(failed, at: min(line.place, lines.count))
        }
        value = .list(lines)
      }
    }
    return "\(SessionTree.text(name).json):\(value.json)"
  }

  /// A phone answers after it was asked and before its answer came, give or take 30 s.
  private static func clock(
    _ answered: String?, _ first: Timestamp, _ last: Timestamp
  ) -> [String] {
    guard case .instant(let time, _)? = answered.flatMap({ HealthTime($0) }) else { return [] }
    let ahead = last.duration(to: time).nanoseconds
    let behind = time.duration(to: first).nanoseconds
    guard max(ahead, behind) > 30_000_000_000 else { return [] }
    let seconds = max(ahead, behind) / 1_000_000_000
    let (sign, word) = ahead > behind ? ("", "ahead of") : ("-", "behind")
    let words =
      "The phone's clock is \(seconds) s \(word) the server's: its days and times may be wrong."
    return [
      "\"clock_difference_seconds\":\(sign)\(seconds)", "\"clock_warning\":\"\(words)\"",
    ]
  }
}
