#if canImport(Network)
  import Dispatch
  import Foundation
  import HoldfastCore
  import HoldfastSocketEngine
  import Network
  import Security

  /// A transport over `NWConnection`. It keeps no state of its own.
  struct ConnectionTransport: SocketTransport {
    let connection: NWConnection
    private let queue: DispatchQueue

    /// Creates a transport that reports on a queue; `nil` if the address has no valid port.
    init?(to address: WebAddress, queue: DispatchQueue) {
      guard let port = NWEndpoint.Port(rawValue: address.port) else { return nil }
      let host = NWEndpoint.Host(String(NetworkAddress.withoutBrackets(address.host)))
      self.queue = queue
      let tcp = NWProtocolTCP.Options()
      tcp.noDelay = true
      connection = NWConnection(
        host: host, port: port,
        using: NWParameters(tls: address.isSecure ? Self.tls : nil, tcp: tcp))
    }

    private static var tls: NWProtocolTLS.Options {
      let tls = NWProtocolTLS.Options()
      let options = tls.securityProtocolOptions
      sec_protocol_options_set_min_tls_protocol_version(options, .TLSv12)
      unsafe sec_protocol_options_add_tls_application_protocol(options, "http/1.1")
      return tls
    }

    func start(_ report: @escaping @Sendable (TransportReport) -> Void) {
      connection.stateUpdateHandler = { state in
        switch state {
        case .ready: report(.connected)
        // The connection would wait without limit for a path that works.
        case .waiting(let error), .failed(let error):
          report(.failed(NetworkFailures.failure(error, in: .connect)))
        case .setup, .preparing, .cancelled: break
        @unknown default: break
        }
      }
      connection.viabilityUpdateHandler = { isViable in
        if !isViable { report(.stalled) }
      }
      connection.start(queue: queue)
    }

    func receive(atMost count: Int, _ report: @escaping @Sendable (TransportReport) -> Void) {
      connection.receive(minimumIncompleteLength: 1, maximumLength: count) {
        data, _, isEnd, error in
        let bytes = data.map { Array($0) } ?? []
        if isEnd {
          report(.ended(bytes))
        } else if let error {
          report(.failed(NetworkFailures.failure(error, in: .silence)))
        } else {
          report(.received(bytes))
        }
      }
    }

    func send(_ bytes: [UInt8], _ report: @escaping @Sendable (TransportReport) -> Void) {
      connection.send(
        content: Data(bytes),
        completion: .contentProcessed { error in
          report(
            error.map { .sendFailed(NetworkFailures.failure($0, in: .write)) }
              ?? .sent(bytes.count))
        })
    }

    func cancel() {
      connection.forceCancel()
    }
  }
#endif
