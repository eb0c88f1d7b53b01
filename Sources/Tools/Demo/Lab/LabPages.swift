import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets

/// The handler of the lab's server. It serves the page, keeps the events, and passes on what a person
/// does.
struct LabPages: SocketHandler {
  private let access: LabAccess
  private let page: [UInt8]
  private let perform: @Sendable (LabAct) -> Bool
  private var record = LabRecord()
  /// The latest events without a number.
  private var state: LabEvent
  /// Whether the apps read no text now.
  private var readsNothing = false
  /// The parts of the world that cannot be changed now.
  private var busy: Set<LabDeed.Group> = []
  private var clock = LabEvent.clock(.zero)
  private var chapter: LabEvent?
  private var readers: Set<RequestID> = []
  private var hasToldFull = false

  init(_ access: LabAccess, page: [UInt8], perform: @escaping @Sendable (LabAct) -> Bool) {
    (self.access, self.page, self.perform) = (access, page, perform)
    state = .state(on: [], busy: [])
  }

  /// Records events and sends them to all readers.
  mutating func add(_ events: [LabEvent], on hub: SocketHub) {
    var bytes: [UInt8] = []
    for event in events {
      switch event {
      case .trace, .fact, .end: bytes += record.add(event)
      case .clock:
        clock = event
        bytes += event.bytes
      case .state(let on, let busy):
        (state, self.busy) = (event, busy)
        readsNothing = on.contains(.sleep) || busy.contains(.phone)
        bytes += event.bytes
      case .chapter:
        chapter = event
        bytes += event.bytes
      case .full: bytes += event.bytes
      }
    }
    if record.isFull, !hasToldFull {
      hasToldFull = true
      bytes += LabEvent.full.bytes
    }
    for reader in readers { hub.write(bytes, to: reader) }
  }

  mutating func handle(_ event: HoldfastServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(let id, let head, let body):
      answer(id, access.read(head, body: body), on: hub)
    case .upgrade(let id, _):
      refuse(id, 400, "There is no WebSocket here.", on: hub)
    case .abandoned(let id): readers.remove(id)
    case .announced, .cut, .opened, .received, .text, .binary, .pong, .overflow, .drained, .closed,
      .starved, .crowded, .woke, .passed:
      break
    }
  }

  private mutating func answer(_ id: RequestID, _ request: LabRequest, on hub: SocketHub) {
    switch request {
    case .page:
      hub.respond(
        to: id, status: 200,
        headers: Self.safe + [
          ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", Self.policy),
        ], body: page)
    case .events(let number):
      hub.begin(
        id, status: 200,
        headers: Self.safe + [("Content-Type", "text/event-stream; charset=utf-8")])
      readers.insert(id)
      // A reader that is backed up for long is disconnected, and continues after its last event.
      let end = record.isFull ? LabEvent.full.bytes : []
      let begin =
        Array("retry: 1000\n\n".utf8) + clock.bytes + state.bytes + (chapter?.bytes ?? [])
      hub.write(begin + record.after(number) + end, to: id)
    case .act(.deed(let deed, _)) where busy.contains(deed.group):
      refuse(id, 409, "“\(deed.title)” is not possible until the last change has ended.", on: hub)
    case .act(.say) where readsNothing:
      refuse(id, 409, "The app does not run now, so it cannot send a message.", on: hub)
    case .act(let act):
      guard perform(act) else {
        return refuse(id, 503, "The lab has too much to do. Try again later.", on: hub)
      }
      hub.respond(to: id, status: 204, headers: Self.safe, body: [])
    case .refused(let status, let sentence): refuse(id, status, sentence, on: hub)
    }
  }

  private func refuse(_ id: RequestID, _ status: Int, _ sentence: String, on hub: SocketHub) {
    hub.respond(
      to: id, status: status,
      headers: Self.safe + [("Content-Type", "text/plain; charset=utf-8")],
      body: Array("\(sentence)\n".utf8))
  }

  private static let safe = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
  ]
  private static let policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
