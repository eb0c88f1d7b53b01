import Foundation
import HoldfastCore
import HoldfastProtocols
import HoldfastRelayData
import HoldfastServerSockets
import HoldfastTestKit
import Synchronization

/// A scripted backend for one phone that uses real sockets.
final class RelayPeer: Sendable {
  /// The way in which the backend reacts to the next phone that connects.
  enum Welcome: Sendable {
    /// The connection is accepted, and this is the first message on it.
    case say(BackendMessage)
    /// The connection is accepted, but no message is sent.
    case silence
    /// The upgrade is refused.
    case refuse(status: Int)
  }

  /// A phone's action that the backend observes.
  enum Event: Sendable, Equatable {
    /// The phone requested an upgrade with these values of two headers.
    case came(device: String?, resume: String?)
    case said(PhoneMessage)
    case left(SocketEnding)
  }

  /// The actions of all phones, in order.
  let events = Mailbox<Event>()
  let port: UInt16
  private let server: SocketServer<Handler>
  private let welcome: Holder

  var url: String { "http://127.0.0.1:\(port)" }

  init(_ welcome: Welcome) async throws {
    var configuration = SocketServerConfiguration()
    configuration.webSocket = WebSocketLimits(maxMessageBytes: 1 << 20, oversize: .close)
    let holder = Holder(welcome)
    self.welcome = holder
    server = try SocketServer(
      configuration, handler: Handler(welcome: holder, events: events))
    let bound = try BoundPort(configuration)
    port = bound.number
    try await server.start(on: bound)
  }

  /// Sets the way in which the backend reacts to later phones.
  func meet(_ next: Welcome) { welcome.next.withLock { $0 = next } }

  /// Sends a message to the connected phone.
  func say(_ message: BackendMessage) { say(message.bytes) }

  /// Sends arbitrary text to the connected phone.
  func say(_ text: [UInt8]) {
    server.inject { handler, hub in
      if let phone = handler.phone { hub.send(text: text, to: phone) }
    }
  }

  /// Drops the phone's connection without a close frame.
  func drop() {
    server.inject { handler, hub in
      if let phone = handler.phone { hub.drop(phone) }
    }
  }

  /// Drops the connection of a phone at once when it has sent a part of an answer.
  func dropAtPart() {
    server.inject { handler, _ in handler.dropsAtPart = true }
  }

  /// Closes the phone's connection with a code.
  func close(code: UInt16) {
    server.inject { handler, hub in
      if let phone = handler.phone { hub.close(phone, code: code, reason: "") }
    }
  }

  func stop() async { await server.stop() }

  /// Returns the first result of `pick` for the next events. Events without a result are skipped.
  func next<Found: Sendable>(_ pick: (Event) -> Found?) async throws -> Found {
    while let event = await events.next() {
      if let found = pick(event) { return found }
    }
    throw CancellationError()
  }

  /// Returns the resume token that the next phone presents.
  func came() async throws -> String? {
    try await next { if case .came(_, let resume) = $0 { .some(resume) } else { nil } }
  }

  /// Returns the phone's next message.
  func said() async throws -> PhoneMessage {
    try await next { if case .said(let message) = $0 { message } else { nil } }
  }

  /// Returns the way in which the phone's connection ended.
  func left() async throws -> SocketEnding {
    try await next { if case .left(let ending) = $0 { ending } else { nil } }
  }

  private final class Holder: Sendable {
    let next: Mutex<Welcome>

    init(_ welcome: Welcome) { next = Mutex(welcome) }
  }

  private struct Handler: SocketHandler {
    let welcome: Holder
    let events: Mailbox<Event>
    var phone: ConnectionID?
    var dropsAtPart = false

    mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
      switch event {
      case .upgrade(let id, let head):
        events.put(.came(device: head["holdfast-device"], resume: head["holdfast-resume"]))
        switch welcome.next.withLock({ $0 }) {
        case .say, .silence: hub.accept(id)
        case .refuse(let status): hub.respond(to: id, status: status, headers: [], body: [])
        }
      case .opened(let id):
        phone = id
        if case .say(let message) = welcome.next.withLock({ $0 }) {
          hub.send(text: message.bytes, to: id)
        }
      case .text(let id, let bytes):
        guard let message = try? PhoneMessage.read(bytes) else { return }
        events.put(.said(message))
        if case .part = message, dropsAtPart {
          dropsAtPart = false
          hub.drop(id)
        }
      case .closed(let id, let ending):
        if phone == id { phone = nil }
        events.put(.left(ending))
      case .request(let id, _, _): hub.respond(to: id, status: 404, headers: [], body: [])
      case .abandoned, .received, .binary, .pong, .overflow, .drained, .starved, .crowded, .woke,
        .announced, .cut, .passed:
        break
      }
    }
  }
}

extension HTTPRequestHead {
  fileprivate subscript(name: String) -> String? {
    headers.first { $0.name == name }?.value
  }
}
