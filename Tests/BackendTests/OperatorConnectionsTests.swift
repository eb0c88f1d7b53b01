import HoldfastServerSockets
import HoldfastTestKit
import Testing

/// Tests of the maximum number of connections of operators, with clients that know only HTTP.
@Suite(.timeLimit(.minutes(60))) struct OperatorConnectionsTests {
  /// Opens a connection for each word, then a further one. An idle one sends nothing, a kept one has
  /// had an answer, a half one sends half of a request, and a busy one waits for an answer.
  ///
  /// - Parameter ended: The numbers of the connections that are to end. The client waits for them,
  ///   because the kernel does not report the end of a connection while a process that another test
  ///   starts still has a copy of its descriptor.
  /// - Returns: What the further one gets, and the numbers of the connections that have ended.
  private static func open(_ words: [String], ended: [Int]) async throws -> String {
    let awaited = ended.map(String.init).joined(separator: " ")
    let scratch = try Scratch()
    let path = scratch("operators.sock")
    var found = ""
    try await SocketsRig.run {
      $0.furtherListeners = [.metrics: .unix(path: path)]
    } _: { rig in
      found = try await Shell.run(["python3", "-c", client, "\(rig.port)", path, awaited] + words)
    }
    return found
  }

  private static let client = """
    import socket, sys
    def connect():
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(600)
        made.connect(sys.argv[2])
        return made
    def ask(made):
        try:
            made.sendall(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
            return made.recv(65536).split(b"\\r\\n")[0].decode()
        except (BrokenPipeError, ConnectionResetError):
            return ""
    # The server answers this client after it has read what was sent before.
    other = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
    held = []
    for word in sys.argv[4:]:
        held.append(connect())
        if word == "kept":
            assert ask(held[-1]).endswith("200 OK")
        elif word == "half":
            held[-1].sendall(b"GET / HTTP")
        elif word == "busy":
            held[-1].sendall(b"GET /later HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    for _ in range(2):
        assert ask(other).endswith("200 OK")
    print(ask(connect()) or "closed", end="")
    for number, made in enumerate(held):
        made.settimeout(600 if str(number) in sys.argv[3].split() else 0)
        try:
            if not made.recv(1):
                print("", number, end="")
        except BlockingIOError:
            pass
        except ConnectionResetError:
            print("", number, end="")
    """

  @Test(arguments: [(62, []), (63, []), (64, [0]), (65, [0, 1])])
  func `above 64 connections, a new one takes the place of the one that has waited longest`(
    count: Int, ended: [Int]
  ) async throws {
    try await Self.expect(Array(repeating: "idle", count: count), ended: ended)
  }

  @Test func `one with half a request ends as one without any, and one that was answered last`()
    async throws
  {
    let busy = Array(repeating: "busy", count: 61)
    try await Self.expect(["kept", "half", "idle"] + busy, ended: [1])
    try await Self.expect(["kept", "busy", "idle"] + busy, ended: [2])
    try await Self.expect(["busy", "busy", "kept"] + busy, ended: [2])
  }

  @Test func `a new one is closed if all have a request in work`() async throws {
    let found = try await Self.open(Array(repeating: "busy", count: 64), ended: [])
    #expect(found == "closed")
  }

  /// Expects that a further connection gets an answer, and that just the named ones end.
  private static func expect(_ words: [String], ended: [Int]) async throws {
    let found = try await open(words, ended: ended)
    #expect(found == "HTTP/1.1 200 OK" + ended.map { " \($0)" }.joined())
  }
}
