import HoldfastRigs
import HoldfastTestKit

/// An echo server and a client in a lab, controlled through lines of text.
struct LabPeers {
  private static let server = """
    import errno, socket, sys, threading
    listener = socket.create_server(("203.0.113.10", 0))
    print("port", listener.getsockname()[1], flush=True)
    peers = []
    def echo(peer):
        try:
            while data := peer.recv(4096): peer.sendall(data)
            print("end", flush=True)
        except OSError as e: print("lost", errno.errorcode[e.errno], flush=True)
    def accept():
        while True:
            peer, address = listener.accept()
            peers.append(peer)
            print("from", address[0], flush=True)
            threading.Thread(target=echo, args=(peer,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    for line in sys.stdin:
        peers[-1].sendall(b"pushed")
    """

  private static let client = """
    import errno, socket, sys
    peer, old = None, []
    def answer(patience, act):
        try:
            peer.settimeout(patience)
            print(act() or "end", flush=True)
        except TimeoutError: print("stall", flush=True)
        except OSError as e: print(errno.errorcode[e.errno], flush=True)
    def connect():
        peer.connect(("203.0.113.10", int(word)))
        return "open"
    def say():
        peer.sendall(word.encode())
        return peer.recv(4096).decode()
    for line in sys.stdin:
        command, word, patience = line.split()
        if command == "connect":
            # Stays open, or its "end" could precede the "from" of the new connection.
            old.append(peer)
            peer = socket.socket()
            answer(float(patience), connect)
        if command == "say": answer(float(patience), say)
        if command == "hear": answer(float(patience), lambda: peer.recv(4096).decode())
    """

  private let server: LabProcess
  private let client: LabProcess
  private let port: String
  private let serverLines: LineReader
  private let clientLines: LineReader

  init(in lab: NetworkLab) async throws {
    server = try await lab.spawn(in: .net, ["python3", "-c", Self.server])
    client = try await lab.spawn(in: .phone, ["python3", "-c", Self.client])
    serverLines = LineReader(server.lines)
    clientLines = LineReader(client.lines)
    port = await serverLines.next().split(separator: " ").last.map(String.init) ?? "0"
  }

  /// The number of seconds to wait for a reply that should arrive.
  private static let timeLimit = 120.0
  /// The number of seconds to wait for a reply that should not arrive.
  static let silence = 0.5

  /// Opens a new connection, and returns `open`, `stall` or the name of an `errno`.
  func connect(timeLimit: Double = timeLimit) async -> String {
    await ask("connect \(port) \(timeLimit)")
  }

  /// Sends a word. Returns the reply: the same word, `stall`, `end` or the name of an `errno`.
  func say(_ text: String, timeLimit: Double = timeLimit) async -> String {
    await ask("say \(text) \(timeLimit)")
  }

  /// Waits for data without sending any, and returns the data that the client receives.
  func receive() async -> String { await ask("hear it \(Self.timeLimit)") }

  /// Makes the server send data to the client without a request.
  func push() { server.send("push") }

  /// Returns the server's next report: `from ADDRESS`, `end` or `lost ERRNO`.
  func serverSays() async -> String { await serverLines.next() }

  private func ask(_ line: String) async -> String {
    client.send(line)
    return await clientLines.next()
  }
}
