import Glibc
import HoldfastTestKit
import Synchronization
import Testing

/// A server of NATS on a port of its own. It ends with the tests.
final class NATSServer: Sendable {
  static let isInstalled = (try? Shell.wait(for: ["nats-server", "--version"])) != nil
  static let remedy: Comment = "needs a server: apt-get install nats-server"

  private let port = TestPort.random()
  private let process = Mutex<LabProcess?>(nil)

  /// The address of the server, behind one where nothing listens.
  var url: String { "nats://127.0.0.1:1,nats://127.0.0.1:\(port)" }

  /// Starts the server, and waits until it accepts connections.
  func start() async throws {
    let process = try LabProcess(
      ["nats-server", "-a", "127.0.0.1", "-p", "\(port)"], endsWithParent: true)
    for await line in process.diagnostics where line.contains("Server is ready") {
      self.process.withLock { $0 = process }
      return
    }
    throw TestServer.Problem(text: "the server of NATS does not start")
  }

  func kill() async {
    let process = process.withLock { current in
      defer { current = nil }
      return current
    }
    process?.signal(SIGKILL)
    _ = await process?.exit()
  }

  /// Publishes payloads with a client that knows only the protocol's text.
  func publish(_ payloads: [String], on subject: String) async throws {
    let script = """
      import socket, sys
      server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
      answers = server.makefile("rb")
      answers.readline()
      server.sendall(b'CONNECT {"verbose":false}\\r\\n')
      for payload in [b"\\xff\\x00\\xfe"] + [word.encode() for word in sys.argv[3:]]:
          server.sendall(b"PUB %s %d\\r\\n%s\\r\\n" % (sys.argv[2].encode(), len(payload), payload))
      server.sendall(b"PING\\r\\n")
      assert answers.readline() == b"PONG\\r\\n"
      """
    try await Shell.run(["python3", "-c", script, "\(port)", subject] + payloads)
  }
}
