import HoldfastCore
import HoldfastMessageServer
import HoldfastPorts
import HoldfastServerParts

/// An input that a service passes to its rules only after the operator's backend has allowed it.
enum HookRequest: Sendable {
  /// An upgrade that opens a socket.
  case connect(ConnectionID)
  /// A post or an edit.
  case post(RequestID, HookPost)

  var event: HookEvent {
    switch self {
    case .connect: .connect
    case .post: .post
    }
  }

  /// The present time.
  static var wall: Timestamp { BootClock().wall }

  /// Returns the request or the upgrade; `nil` if its client has left.
  func exchange<S: Service>(in context: ServiceContext<S>) -> ServiceContext<S>.Exchange? {
    switch self {
    case .connect(let id): context.exchange(of: id)
    case .post(let id, _): context.exchange(of: id)
    }
  }

  /// Returns the question to the operator's backend.
  ///
  /// - Parameter line: The facts about the request for the log.
  func question(_ line: LogLine) -> HookQuestion {
    switch self {
    case .connect: HookQuestion(.connect, of: HookClient(line), at: Self.wall)
    case .post(_, let post): HookQuestion(.post(post), of: HookClient(line), at: Self.wall)
    }
  }
}

extension HookClient {
  /// Creates a client from what the log shows about its request or socket.
  init(_ line: LogLine) {
    func name(_ key: String) -> String? { line.names.first { $0.key == key }?.text }
    self.init(
      ConnectionID(line.connection ?? 0), route: line.route ?? "", user: name("user"),
      shop: name("shop"), address: line.address?.text)
  }
}

extension HookDesk {
  /// Reports the end of a socket, if the operator's backend is to know of it.
  func tell<S: Service>(_ socket: ServiceContext<S>.Exchange, code: UInt16, at now: Instant) {
    guard concerns(.disconnect) else { return }
    let life = socket.since.duration(to: now)
    tell(HookNote(HookClient(socket.line), code: code, life: life, at: HookRequest.wall), at: now)
  }
}

/// The inputs of a service that wait for the operator's backend.
struct HeldInputs<Input> {
  private var held: [HookTicket: (input: Input, request: HookRequest)] = [:]

  /// The tickets in the order in which the questions were asked.
  var tickets: [HookTicket] { held.keys.sorted() }

  mutating func add(_ input: Input, of request: HookRequest, as ticket: HookTicket) {
    held[ticket] = (input, request)
  }

  mutating func remove(_ ticket: HookTicket) -> (input: Input, request: HookRequest)? {
    held.removeValue(forKey: ticket)
  }

  /// Removes all inputs. Returns their tickets.
  mutating func removeAll() -> [HookTicket] {
    defer { held = [:] }
    return tickets
  }

  /// Returns the ticket of the request that an event has ended; `nil` if it does not wait.
  func ticket<Route>(endedBy event: ServiceEvent<Route>) -> HookTicket? {
    held.first { _, each in
      switch (each.request, event) {
      case (.post(let id, _), .abandoned(let ended)): id == ended
      case (.connect(let id), .closed(let ended, _)): id == ended
      case (_, _): false
      }
    }?.key
  }
}
