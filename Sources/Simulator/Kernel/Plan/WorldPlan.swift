import HoldfastCore
import HoldfastLinkChecks

/// All decisions that are made before a run begins. Equal plans produce equal runs.
public struct WorldPlan<Feature: SimulatedFeature>: Sendable, Hashable {
  /// The seed of all random sources of the run.
  public var seed: UInt64
  /// The server that the feature is tested against.
  public var server: Feature.Server
  /// The network conditions while no fault is in progress.
  public var networkConditions: NetworkConditions
  /// The feature's own numbers.
  public var numbers: Feature.Numbers
  /// The planned events, ordered by time.
  public var events: [TimedEvent<Feature.EventKind>]
  /// The time at which the calm phase begins, on the world's clock.
  public var length: Duration

  /// Creates a plan. The default network conditions are those of a good day.
  public init(
    seed: UInt64, server: Feature.Server = .usual,
    networkConditions: NetworkConditions = NetworkConditions(),
    numbers: Feature.Numbers = Feature.Numbers(), events: [TimedEvent<Feature.EventKind>],
    length: Duration
  ) {
    self.seed = seed
    self.server = server
    self.networkConditions = networkConditions
    self.numbers = numbers
    self.events = events
    self.length = length
  }
}

/// A planned event and its time.
public struct TimedEvent<Own: PlanEventKind>: Sendable, Hashable {
  /// The time since the beginning of the run.
  public var at: Duration
  /// The event.
  public var event: PlannedEvent<Own>

  public init(at: Duration, _ event: PlannedEvent<Own>) {
    self.at = at
    self.event = event
  }
}

/// The servers that a feature can be tested against.
public protocol ServerChoice: RawRepresentable<String>, CaseIterable, Codable, Sendable, Hashable {
  /// The server of a plan that does not specify one.
  static var usual: Self { get }
}

/// The server choice of a feature with only one server. Files and options do not mention it.
public enum OneServer: String, ServerChoice {
  case only

  public static var usual: OneServer { .only }
}

extension ServerChoice {
  /// Whether there is more than one server to choose from.
  public static var isChoice: Bool { allCases.count > 1 }
}

extension WorldPlan {
  /// The first invalid event, with the faulty member of its JSON object.
  var problem: (index: Int, member: String, text: String)? {
    let hosts = Feature.hosts(numbers)
    for (index, planned) in events.enumerated() {
      if let text = planned.event.problem(among: hosts) { return (index, "action", text) }
      if planned.at >= length {
        let text = "\(planned.at.text) is not before the end of the plan, \(length.text)"
        return (index, "at", text)
      }
    }
    return nil
  }
}

extension PlannedEvent {
  /// Returns the reason why the event affects no host of a world; `nil` if it affects one.
  fileprivate func problem(among hosts: [HostKind]) -> String? {
    let kind = kind ?? form.host
    let count = hosts.count { $0 == kind }
    guard host ?? 0 >= count else { return nil }
    let name = kind.rawValue
    switch count {
    case 0: return "\(text): there is no \(name)"
    case 1: return "\(text): there is 1 \(name), number 0"
    case _: return "\(text): there are \(count) \(name)s, numbers 0 to \(count - 1)"
    }
  }
}

// The format of plan files. Time spans have the same form as in policies, and default values may be
// omitted.
extension WorldPlan: Codable {
  private enum Keys: String, CodingKey, CaseIterable {
    case seed, server, actions, length
    case networkConditions = "conditions"
  }

  public init(from decoder: any Decoder) throws {
    try decoder.container(keyedBy: FieldKey.self).expect(only: Keys.allCases.map(\.rawValue))
    let container = try decoder.container(keyedBy: Keys.self)
    let server = try Self.server(in: container)
    var networkConditions = NetworkConditions()
    var numbers = Feature.Numbers()
    if container.contains(.networkConditions) {
      let fields = try container.nestedContainer(keyedBy: FieldKey.self, forKey: .networkConditions)
      try fields.expect(
        only: NetworkConditions.fields.map(\.name) + Feature.Numbers.fields.map(\.name))
      networkConditions = try NetworkConditions(from: fields)
      numbers = try Feature.Numbers(from: fields)
    }
    self.init(
      seed: try container.number(.seed, 0...UInt64.max), server: server,
      networkConditions: networkConditions,
      numbers: numbers,
      events: try container.decode([TimedEvent<Feature.EventKind>].self, forKey: .actions),
      length: try container.span(.length))
    guard let problem else { return }
    let path = [FieldKey(intValue: problem.index), FieldKey(stringValue: problem.member)]
    throw DecodingError.dataCorrupted(
      .init(
        codingPath: container.codingPath + [Keys.actions] + path, debugDescription: problem.text))
  }

  private static func server(in container: KeyedDecodingContainer<Keys>) throws -> Feature.Server {
    let hint = "; the plan may be one of another world"
    guard !Feature.Server.isChoice else { return try container.choice(.server, else: hint) }
    guard container.contains(.server) else { return .usual }
    let name = try container.decode(String.self, forKey: .server)
    guard let server = Feature.Server(rawValue: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .server, in: container, debugDescription: "there is one kind of server\(hint)")
    }
    return server
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(seed, forKey: .seed)
    if Feature.Server.isChoice { try container.encode(server, forKey: .server) }
    var fields = container.nestedContainer(keyedBy: FieldKey.self, forKey: .networkConditions)
    try networkConditions.encode(to: &fields)
    try numbers.encode(to: &fields)
    try container.encode(events, forKey: .actions)
    try container.encode(length.text, forKey: .length)
  }
}

extension TimedEvent: Codable {
  private enum Keys: String, CodingKey, CaseIterable {
    case at, action
  }

  public init(from decoder: any Decoder) throws {
    try decoder.container(keyedBy: FieldKey.self).expect(only: Keys.allCases.map(\.rawValue))
    let container = try decoder.container(keyedBy: Keys.self)
    self.init(
      at: try container.span(.at), try container.decode(PlannedEvent<Own>.self, forKey: .action))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(at.text, forKey: .at)
    try container.encode(event, forKey: .action)
  }
}
