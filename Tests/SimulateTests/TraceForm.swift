import Foundation
import HoldfastLinkTrace
import HoldfastTestKit

/// A check of the form of a trace: its header, and the lane, the kind, the order and the cause of
/// each fact.
enum TraceForm {
  /// The lane of each kind of fact. A kind that is only a sentence may be in any lane.
  private static let lanes: [String: TraceLane] = {
    let events: [TraceEvent] = [
      .open, .up, .end(why: "", isLost: false), .incoming(bytes: nil),
      .outgoing(bytes: nil), .pingIn, .pingOut, .pong, .poll,
      .message(made: .zero, via: "", position: nil), .sent(made: .zero, waiting: 0),
      .outbox(waiting: 0), .fetched(from: .zero, isDone: true, count: 0),
      .post(from: .zero, isDone: true), .head(position: 0), .gap, .gapClosed, .notice,
      .commit(from: .zero, isDone: true), .path(""), .app(""), .woke, .token, .want, .leave,
      .wrote, .trouble(name: ""), .down, .accepted, .draining, .finding(name: ""),
    ]
    let lanes = Dictionary(uniqueKeysWithValues: events.map { ($0.kind, $0.lane) })
    return lanes.merging(["state": .link]) { $1 }
  }()

  /// Returns what is wrong with the text of a trace, at most ten entries.
  static func problems(_ text: [UInt8]) throws -> [String] {
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    let header = try [String: Any].reading(lines.first)
    var found = ["machine", "name", "startedAt", "end", "seed"].filter { header[$0] == nil }
    if header["trace"] as? Int != TraceWriter.version { found.append("version") }
    var last = 0.0
    for (index, line) in lines.dropFirst().enumerated() where found.count < 10 {
      let fact = try [String: Any].reading(line)
      found += problems(fact, index: index, after: last).map { "\($0): \(line)" }
      last = fact["t"] as? Double ?? last
    }
    return found
  }

  private static func problems(
    _ fact: [String: Any], index: Int, after last: Double
  ) -> [String] {
    var found: [String] = []
    let time = fact["t"] as? Double ?? -1
    if time < max(last, 0) { found.append("not in order of time") }
    let lane = (fact["lane"] as? String).flatMap(TraceLane.init(rawValue:))
    let kind = fact["kind"] as? String ?? ""
    if lane == nil { found.append("an unknown lane") }
    if kind != "note", lanes[kind] == nil || lanes[kind] != lane { found.append("a wrong lane") }
    let say = fact["say"] as? String ?? ""
    if say.isEmpty || say.hasSuffix("..") { found.append("no sentence") }
    if let cause = fact["by"] as? Int, !(0..<index).contains(cause) {
      found.append("a cause that is not an earlier fact")
    }
    for begin in ["from", "made"] {
      if let from = fact[begin] as? Double, from > time { found.append("ends before it begins") }
    }
    if let until = fact["until"] as? Double, until < time { found.append("ends before it begins") }
    return found
  }
}
