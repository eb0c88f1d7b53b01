import Glibc
public import HoldfastCore
import HoldfastProtocols

/// Requests that another server handles.
extension SocketHub {
  /// The number of queued bytes above which a connection of a passed request is not read.
  private static let maxPassedBytes = 4 * scratchBytes
  /// The maximum time to connect to the other server.
  private static let connectTimeout = Duration.seconds(5)

  /// Passes a request on to another server, and its response to the client.
  ///
  /// The bytes of the response are not looked at, so it may be a stream or a WebSocket. The
  /// connection ends with it. `passed` follows at the end.
  ///
  /// - Parameters:
  ///   - message: The request for the other server. It must make the server close the connection
  ///     after its response.
  ///   - time: The maximum time until the response begins.
  ///   - refusal: The complete response if the server cannot be reached.
  ///   - failure: The complete response if the server has received the request and sends none.
  public func pass(
    _ request: RequestID, to server: SocketEndpoint, _ message: [UInt8], within time: Duration,
    orAnswer refusal: [UInt8], afterSending failure: [UInt8]
  ) {
    guard let (client, exchange, question) = unanswered(request) else { return }
    guard let descriptor = server.connect() else { return refuse(request, client, refusal) }
    let id = nextID()
    guard poller.add(descriptor, .write, token: id.number) == nil else {
      discard(id)
      Glibc.close(descriptor)
      return refuse(request, client, refusal)
    }
    let isUpgrade = question.upgrade != nil
    let early = isUpgrade ? exchange.reader.takeRest() : []
    let node = Connection(
      id: id, descriptor: descriptor, tls: nil, phase: .passing(Passage(with: client.id)))
    node.watched = .write
    insert(node)
    client.phase = .passing(
      Passage(
        with: id,
        Passage.Passed(
          request: request, isUpgrade: isUpgrade, refusal: refusal, failure: failure)))
    limit(client, to: time)
    node.outgoing.append(message)
    node.outgoing.append(early)
    limit(node, to: Self.connectTimeout)
    touch(node)
    touch(client)
    rememberUnread(client)
  }

  /// Ends a passed request. If its response has not begun, the client receives the failure. Returns
  /// whether it had begun.
  public func giveUp(_ client: ConnectionID) -> Bool {
    guard let connection = connection(client), case .passing(let passage) = connection.phase else {
      return true
    }
    let isAnswered = passage.isAnswered
    expire(connection, passage)
    return isAnswered
  }

  private func refuse(_ request: RequestID, _ client: Connection, _ refusal: [UInt8]) {
    client.outgoing.append(refusal)
    emit(.passed(request, wasAnswered: false))
    leave(client)
  }

  /// Queues bytes that one connection has read on the other one.
  func forward(_ bytes: [UInt8], _ connection: Connection, _ passage: Passage) {
    guard let (other, its) = partner(of: passage) else { return }
    if other.outgoing.isEmpty { limit(other, to: configuration.answerTimeout) }
    other.outgoing.append(bytes)
    touch(other)
    if let passed = its.passed, !its.isAnswered {
      its.isAnswered = true
      if passed.isUpgrade { leaveLimit(other) }
    }
    guard other.outgoing.byteCount >= Self.maxPassedBytes else { return }
    passage.isHeldBack = true
    touch(connection)
  }

  /// Reads from the other connection again, after the queued bytes of this one were sent.
  func emptied(_ connection: Connection, _ passage: Passage) {
    passage.isSent = true
    if passage.passed == nil || passage.isAnswered { limit(connection, to: nil) }
    guard let (other, its) = partner(of: passage) else { return }
    if its.hasEnded { connection.shutWriting() }
    guard its.isHeldBack else { return }
    its.isHeldBack = false
    if its.isParked {
      its.isParked = false
      other.watched = .read
      _ = poller.add(other.descriptor, .read, token: other.id.number)
    }
    touch(other)
    rememberUnread(other)
  }

  /// Stops watching a connection that has ended, and whose bytes are not read yet. The poller would
  /// report its end all the time. Returns false if the bytes may be read.
  func park(_ connection: Connection) -> Bool {
    guard case .passing(let passage) = connection.phase, passage.isHeldBack else { return false }
    passage.isParked = true
    poller.remove(connection.descriptor)
    return true
  }

  /// Ends a passed request whose response has not begun in time, or whose bytes are not accepted.
  func expire(_ connection: Connection, _ passage: Passage) {
    guard passage.passed != nil, !passage.isAnswered, let (node, _) = partner(of: passage) else {
      return destroy(connection, as: .ended)
    }
    destroy(node, as: .ended)
  }

  /// Handles the end of what one connection sends. A client may still wait for its response.
  func finish(_ connection: Connection, _ passage: Passage) {
    guard passage.passed != nil else { return destroy(connection, as: .ended) }
    passage.hasEnded = true
    touch(connection)
    guard let (node, _) = partner(of: passage) else { return }
    if node.outgoing.isEmpty { node.shutWriting() }
  }

  /// Ends the other connection, since this one has ended. A client receives what the other server
  /// has sent, or the refusal.
  func part(_ connection: Connection, _ passage: Passage, _ ending: SocketEnding) {
    // This connection is no longer the partner of the other one.
    connection.phase = .lingering
    if let passed = passage.passed {
      emit(.passed(passed.request, wasAnswered: passage.isAnswered))
    }
    guard let (other, its) = partner(of: passage) else { return }
    guard let passed = its.passed else { return destroy(other, as: ending) }
    if !its.isAnswered {
      other.outgoing.append(passage.isSent ? passed.failure : passed.refusal)
    }
    emit(.passed(passed.request, wasAnswered: its.isAnswered))
    leave(other)
    if !other.outgoing.isEmpty { limit(other, to: configuration.answerTimeout) }
  }

  private func partner(of passage: Passage) -> (Connection, Passage)? {
    guard let other = connection(passage.other), case .passing(let its) = other.phase else {
      return nil
    }
    return (other, its)
  }
}

/// The numeric address and the port of another server.
public struct SocketEndpoint: Sendable, Hashable, CustomStringConvertible {
  /// The address, without brackets.
  public let host: String
  /// The TCP port.
  public let port: UInt16

  /// Parses an address and a port, such as `10.0.0.1:8788` or `[fd00::1]:8788`. Returns `nil` for a
  /// name and for other text.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    let host = text[..<colon]
    guard NetworkAddress(host: host) != nil, host.first == "[" || !host.contains(":") else {
      return nil
    }
    (self.host, self.port) = (String(NetworkAddress.withoutBrackets(host)), port)
  }

  init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Begins a connection. Returns its descriptor; `nil` if it failed at once.
  ///
  /// A server that is gone without a word is noticed within about 11 s.
  func connect() -> Int32? {
    guard let address = SocketAddress(numeric: host, port: port) else { return nil }
    let descriptor = socket(
      address.family,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let tcp = Int32(IPPROTO_TCP)
    for (level, name, value) in [
      (tcp, TCP_NODELAY, 1), (SOL_SOCKET, SO_KEEPALIVE, 1), (tcp, TCP_KEEPIDLE, 5),
      (tcp, TCP_KEEPINTVL, 2), (tcp, TCP_KEEPCNT, 3), (tcp, TCP_USER_TIMEOUT, 11_000),
    ] {
      setOption(level, name, Int32(value), on: descriptor)
    }
    let result = unsafe address.withRaw { unsafe Glibc.connect(descriptor, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}
