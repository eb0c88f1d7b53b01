public import HoldfastCore
public import HoldfastHeldSocket
public import HoldfastLinkChecks

/// A held socket: one phone, its user, and a server with a foreign protocol.
public enum HeldFeature: ObservedFeature {
  /// The model of a held socket.
  public typealias Model = SocketModel

  /// A message in either direction, in the server's protocol.
  public enum Packet: Sendable, Equatable {
    case opened, hello, welcome
    case after(Int)
    case numbered(Int)
    case said(Int)
    /// The server has processed a message of the user.
    case acknowledges(Int)
    /// A standing message of the user, by its version.
    case standing(Int)
  }

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// A packet from a phone reached the server over a line.
    case heard(TrafficID, Packet)
  }

  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  public struct State: Sendable {
    /// The settings of the model.
    package var settings = SocketSettings(policy: .socket)
    /// The number of the newest message that the app has shown. It is also the stored position.
    package var shown = 0
    /// The number of the server's newest message.
    package var fed = 0
    /// The number of the user's messages that are to be sent, or whose arrival is not proven.
    public package(set) var queued = 0
    package var handed = 0

    package init() {}

    /// Copies the state of the model.
    package mutating func look(_ model: SocketModel) {
      (queued, handed) = (model.queue.entries.count, model.queue.handed)
    }
  }

  public static var name: String { "held-socket" }
  public static var policy: LinkPolicy { .socket }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<HeldFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<HeldFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  public static func isHealed(_ phoneState: PhoneState<HeldFeature>) -> Bool {
    phoneState.own.shown == phoneState.own.fed && phoneState.own.queued == 0
  }

  public static func remains(_ phoneState: PhoneState<HeldFeature>) -> String {
    ", \(phoneState.own.fed - phoneState.own.shown) to show, \(phoneState.own.queued) to send"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<HeldFeature>, _ found: (String, Int, Int) -> Void
  ) {
    let own = phoneState.own
    if own.queued > ProvenQueue.limit { found("queued", own.queued, ProvenQueue.limit) }
    if own.handed > ProvenQueue.window { found("handed", own.handed, ProvenQueue.window) }
  }

  // Traces.

  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .send(_, let message): (.user, "says \(TraceText.quoted(message.text ?? ""))")
    case .standing(let key, let message):
      (.user, message == nil ? "removes standing message \(key)" : "sets standing message \(key)")
    case .socket(let attempt, .acknowledged(let id)):
      TraceText.connection(attempt, "acknowledges message \(id)")
    case .socket(let attempt, .message(let message, _)):
      TraceText.connection(attempt, "brings \(TraceText.quoted(message.text ?? ""))")
    case .start, .stop, .link, .credentials, .socket, .restored, .stored, .storeFailed,
      .makeStanding:
      TraceText.cause(input, of: Model.self)
    }
  }

  public static func statusLabel(_ effect: Effect) -> String? {
    if case .update(.status(let status)) = effect { TraceText.status(status) } else { nil }
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .heard(_, let packet): [(.server, "receives \(describe(packet))")]
    }
  }

  private static func describe(_ packet: Packet) -> String {
    switch packet {
    case .opened, .welcome: "the beginning of a connection"
    case .hello: "a greeting"
    case .after(let number): "the request for messages after \(number)"
    case .numbered(let number): "message \(number) of the server"
    case .said(let number): "message \(number) of the user"
    case .acknowledges(let number): "an acknowledgement of message \(number)"
    case .standing(let version): "standing message \(version)"
    }
  }
}

extension SocketModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start: .wanted
    case .stop: .left
    case .link(let event): event.role
    case .credentials(let event): .credentials(event)
    case .socket(let attempt, .opened): .opened(attempt)
    case .socket(let attempt, .message), .socket(let attempt, .acknowledged): .data(attempt)
    case .socket(let attempt, .reading), .socket(let attempt, .unsent): .received(attempt)
    case .send, .standing, .makeStanding, .restored, .stored, .storeFailed: .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt): .open(attempt)
    case .close(let attempt, let reason): .close(attempt, reason)
    case .ping(let attempt, _): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .update(.notice): .notice
    case .greet, .resume, .standing, .makeStanding, .send, .ask, .store, .remove, .update: .other
    }
  }
}

extension SocketMessage {
  /// The number that the text contains.
  package var number: Int? { text.flatMap { Int($0) } }
  /// The version of a standing message, which the text contains.
  package var version: Int? {
    text.flatMap { $0.hasPrefix("standing ") ? Int($0.dropFirst("standing ".count)) : nil }
  }
}
