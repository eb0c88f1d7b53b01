import CHoldfastNATS
package import HoldfastCore
import HoldfastLinuxEvents
import Synchronization

extension NodeBus {
  /// Opens the bus of a node over NATS.
  ///
  /// - Parameters:
  ///   - run: The run of the node.
  ///   - subject: The subject of the notes, which nodes of other databases do not use.
  package convenience init(of run: UUID128, over settings: NATSSettings, subject: String) {
    let turns = NATSTurns(settings.servers, first: .random(in: 0..<settings.servers.count))
    self.init(of: run) { signal throws(NodeBusFailure) in
      // One server at a time: a list of dead ones would delay the end of the bus.
      try NATSCarrier(turns.next(), settings, subject, signal)
    }
  }
}

/// The order in which a node tries servers: one after another, in turns. A server that does not answer
/// is therefore not tried again before all others.
final class NATSTurns: Sendable {
  private let servers: [NATSSettings.Server]
  private let turn: Mutex<Int>

  /// Creates the order. `servers` is not empty, and `first` is the index of one of them.
  init(_ servers: [NATSSettings.Server], first: Int) {
    self.servers = servers
    turn = Mutex(first)
  }

  /// Returns the server to try now.
  func next() -> NATSSettings.Server {
    turn.withLock { turn in
      defer { turn = (turn + 1) % servers.count }
      return servers[turn]
    }
  }
}

/// A connection to one server of NATS. libnats does not open it again, since that would hide a hole.
@safe private final class NATSCarrier: NoteCarrier {
  /// The maximum time to connect, and for an answer.
  private static let patience: Int64 = 2_000

  let descriptor: Int32 = -1
  private let subject: String
  private let arrivals: Arrivals
  private let connection: OpaquePointer
  private let subscription: OpaquePointer

  init(
    _ server: NATSSettings.Server, _ settings: NATSSettings, _ subject: String, _ signal: WakeSignal
  ) throws(NodeBusFailure) {
    self.subject = subject
    arrivals = Arrivals(signal)
    let connection = try unsafe Self.connect(to: server, settings)
    do throws(NodeBusFailure) {
      let subscription = try unsafe Self.subscribe(connection, subject, arrivals)
      unsafe (self.connection, self.subscription) = unsafe (connection, subscription)
    } catch {
      unsafe natsConnection_Destroy(connection)
      throw error
    }
    // The deinitializer ends both if the server does not confirm the subscription.
    try Self.check(unsafe natsConnection_FlushTimeout(connection, Self.patience))
  }

  deinit {
    unsafe natsSubscription_Destroy(subscription)
    unsafe natsConnection_Destroy(connection)
  }

  func send(_ note: String) throws(NodeBusFailure) {
    try Self.check(unsafe natsConnection_PublishString(connection, subject, note))
  }

  func notes() throws(NodeBusFailure) -> [String] {
    // A refused subscription, or notes that were dropped. The text of the error belongs to a thread of
    // libnats, which may replace it.
    var text: UnsafePointer<CChar>?
    let status = unsafe natsConnection_GetLastError(connection, &text)
    guard status == NATS_OK else { throw NodeBusFailure(Self.name(of: status)) }
    return try arrivals.take()
  }

  private static func connect(
    to server: NATSSettings.Server, _ settings: NATSSettings
  ) throws(NodeBusFailure) -> OpaquePointer {
    var created: OpaquePointer?
    try check(unsafe natsOptions_Create(&created))
    guard let options = unsafe created else { throw NodeBusFailure("memory is exhausted") }
    defer { unsafe natsOptions_Destroy(options) }
    try check(unsafe natsOptions_SetURL(options, server.url))
    try check(unsafe natsOptions_SetName(options, "holdfast"))
    try check(unsafe natsOptions_SetAllowReconnect(options, false))
    try check(unsafe natsOptions_SetTimeout(options, patience))
    try check(unsafe natsOptions_SetWriteDeadline(options, patience))
    try check(unsafe natsOptions_SetSendAsap(options, true))
    // Without a handler, libnats writes to standard error.
    try check(unsafe natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil))
    try unsafe logIn(options, server, settings.values)
    var connected: OpaquePointer?
    try check(unsafe natsConnection_Connect(&connected, options), at: server)
    guard let connection = unsafe connected else { throw NodeBusFailure("memory is exhausted") }
    return unsafe connection
  }

  private static func logIn(
    _ options: OpaquePointer, _ server: NATSSettings.Server,
    _ values: [NATSSettings.Variable: String]
  ) throws(NodeBusFailure) {
    // A server may demand TLS although the URL does not.
    try check(unsafe natsOptions_SetExpectedHostname(options, server.host))
    try check(unsafe natsOptions_SetSecure(options, server.isSecure))
    if let path = values[.authorities] {
      try check(unsafe natsOptions_LoadCATrustedCertificates(options, path))
    }
    if let certificate = values[.certificate], let key = values[.key] {
      try check(unsafe natsOptions_LoadCertificatesChain(options, certificate, key))
    }
    if let path = values[.credentials] {
      try check(unsafe natsOptions_SetUserCredentialsFromFiles(options, path, nil))
    }
    if let user = values[.user] {
      if let password = values[.password] {
        try check(unsafe natsOptions_SetUserInfo(options, user, password))
      } else {
        try check(unsafe natsOptions_SetToken(options, user))
      }
    }
  }

  /// Subscribes. The callbacks, which threads of libnats call, own a reference to `arrivals` until the
  /// last of them.
  private static func subscribe(
    _ connection: OpaquePointer, _ subject: String, _ arrivals: Arrivals
  ) throws(NodeBusFailure) -> OpaquePointer {
    let context = unsafe Unmanaged.passRetained(arrivals).toOpaque()
    var created: OpaquePointer?
    let status = unsafe natsConnection_Subscribe(
      &created, connection, subject,
      { _, _, message, context in
        defer { unsafe natsMsg_Destroy(message) }
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Arrivals>.fromOpaque(context).takeUnretainedValue()
          .add(NATSCarrier.text(of: message))
      }, context)
    guard status == NATS_OK, let subscription = unsafe created else {
      unsafe Unmanaged<Arrivals>.fromOpaque(context).release()
      throw failure(status)
    }
    let completion = unsafe natsSubscription_SetOnCompleteCB(
      subscription,
      { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Arrivals>.fromOpaque(context).takeRetainedValue().end()
      }, context)
    guard completion == NATS_OK else {
      // The connection has just ended. A callback may still run, so the reference is not released.
      unsafe natsSubscription_Destroy(subscription)
      throw failure(completion)
    }
    return unsafe subscription
  }

  /// Returns the text of a message; an empty one if the message is too large for a note.
  private static func text(of message: OpaquePointer?) -> String {
    let count = unsafe Int(natsMsg_GetDataLength(message))
    guard count < NodeNote.maxBytes, let start = unsafe natsMsg_GetData(message) else { return "" }
    return unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }

  private static func check(
    _ status: natsStatus, at server: NATSSettings.Server? = nil
  ) throws(NodeBusFailure) {
    guard status != NATS_OK else { return }
    throw failure(status, at: server)
  }

  private static func failure(
    _ status: natsStatus, at server: NATSSettings.Server? = nil
  ) -> NodeBusFailure {
    let reason = unsafe nats_GetLastError(nil).map { unsafe String(cString: $0) } ?? ""
    // The reason begins with a place in the source of libnats.
    let place = reason.firstRange(of: "): ")
    let text = place.map { String(reason[$0.upperBound...]) } ?? name(of: status)
    return NodeBusFailure(server.map { "\($0.url): \(text)" } ?? text)
  }

  private static func name(of status: natsStatus) -> String {
    unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "failure \(status)"
  }
}

/// The notes that threads of libnats have received, until the bus reads them.
private final class Arrivals: Sendable {
  private struct State {
    var notes: [String] = []
    var failure: NodeBusFailure?
  }

  private static let most = 10_000

  private let signal: WakeSignal
  private let state = Mutex(State())

  init(_ signal: WakeSignal) { self.signal = signal }

  func add(_ note: String) {
    let isFirst = state.withLock { state in
      guard state.notes.count < Self.most else {
        state.failure = NodeBusFailure("notes arrive faster than they are read")
        return false
      }
      state.notes.append(note)
      return state.notes.count == 1
    }
    if isFirst { signal.send() }
  }

  /// Records that no more notes arrive.
  func end() {
    state.withLock { $0.failure = $0.failure ?? NodeBusFailure("the connection ended") }
    signal.send()
  }

  /// Removes and returns the notes.
  func take() throws(NodeBusFailure) -> [String] {
    let (notes, failure) = state.withLock { state in
      defer { state.notes = [] }
      return (state.notes, state.failure)
    }
    if let failure { throw failure }
    return notes
  }
}
