import HoldfastCore
import HoldfastJSON
import HoldfastLinkTrace

/// The numbered events of a lab: the headers of traces, their facts, and the ends of facts that last.
///
/// Events are in the form of server-sent events (HTML standard, section 9.2). A page that lost its
/// connection continues after the last number that it received.
struct LabRecord: Sendable {
  /// The maximum number of events, about 40 MB. Of later ones, only the ends of recorded facts are
  /// recorded, and the page says so. The limit is Holdfast's own.
  private let limit: Int
  private(set) var events: [[UInt8]] = []
  /// The number of recorded facts of each link.
  private var facts: [String: Int] = [:]

  init(limit: Int = 200_000) { self.limit = limit }

  /// Whether the limit is reached.
  var isFull: Bool { events.count >= limit }

  /// Adds an event. Returns it with its number; empty if the record is full.
  mutating func add(_ event: LabEvent) -> [UInt8] {
    guard hasRoom(for: event) else { return [] }
    if case .fact(let link, _) = event { facts[link, default: 0] += 1 }
    let bytes = Array("id: \(events.count + 1)\n".utf8) + event.bytes
    events.append(bytes)
    return bytes
  }

  private func hasRoom(for event: LabEvent) -> Bool {
    guard isFull else { return true }
    // A fact ends once, so these are at most as many as the facts.
    if case .end(let link, let fact, _) = event { return fact < facts[link, default: 0] }
    return false
  }

  /// Returns the events with a number above this one.
  func after(_ number: Int) -> [UInt8] {
    Array(events.dropFirst(max(0, number)).joined())
  }
}

/// An event that the lab's page receives.
enum LabEvent: Sendable {
  /// The header of a link's trace.
  case trace(link: String, TraceHeader)
  /// A fact of a link's trace. Facts count from 0 in the order of these events.
  case fact(link: String, TraceFact)
  /// The end of a fact that lasts.
  case end(link: String, fact: Int, at: Duration)
  /// The time since the beginning of all traces.
  case clock(Duration)
  /// The deeds that are in force, and the parts of the world that cannot be changed now.
  case state(on: Set<LabDeed>, busy: Set<LabDeed.Group>)
  /// The title and the sentence of the chapter that a demo plays.
  case chapter(String, String)
  /// The record is full.
  case full

  /// The event without a number, as lines.
  var bytes: [UInt8] {
    switch self {
    case .trace(let link, let header): Self.line("trace", link, TraceWriter.line(header))
    case .fact(let link, let fact): Self.line("fact", link, TraceWriter.line(fact))
    case .end(let link, let fact, let at):
      Self.line("end") {
        $0.entry("link", link)
        $0.entry("fact", fact)
        $0.time("until", at)
      }
    case .clock(let time): Self.line("clock") { $0.time("t", time) }
    case .state(let on, let busy):
      Self.line("state") {
        $0.entry("on", LabDeed.allCases.filter(on.contains).map(\.rawValue))
        $0.entry("busy", LabDeed.Group.allCases.filter(busy.contains).map(\.rawValue))
      }
    case .chapter(let title, let say):
      Self.line("chapter") {
        $0.entry("title", title)
        $0.entry("say", say)
      }
    case .full: Self.line("full") { _ in }
    }
  }

  private static func line(_ name: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.object(members)
    return line(name, writer.bytes)
  }

  private static func line(_ name: String, _ link: String, _ object: [UInt8]) -> [UInt8] {
    var writer = JSONWriter(capacity: object.count + 64)
    writer.object {
      $0.entry("link", link)
      $0.key(name)
      $0.raw(object)
    }
    return line(name, writer.bytes)
  }

  private static func line(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}
