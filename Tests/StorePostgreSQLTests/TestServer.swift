import Foundation
import Glibc
import HoldfastCore
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastPostgreSQLStores

/// A PostgreSQL server in a temporary directory. It ends with the tests.
final class TestServer: Sendable {
  /// Whether the packages are installed, and the server can be started by this user.
  static let isInstalled =
    programs != nil
    && (geteuid() != 0 || FileManager.default.fileExists(atPath: "/usr/bin/setpriv"))
  static let remedy: Comment = "needs a server: apt-get install postgresql postgresql-client"

  /// The newest of the directories with the server's programs.
  private static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return versions.compactMap(Int.init).sorted().last.map { "\(root)/\($0)/bin" }
  }()

  private static let sharedPath = Mutex<String?>(nil)

  /// The server that most tests use. It does not sync, so that it is fast.
  private static let sharedServer = Task {
    removeOld()
    let server = try await TestServer()
    sharedPath.withLock { $0 = server.path }
    atexit {
      guard let path = TestServer.sharedPath.withLock({ $0 }) else { return }
      try? FileManager.default.removeItem(atPath: path)
    }
    try await server.start(["fsync=off"])
    return server
  }

  static var shared: TestServer {
    get async throws { try await sharedServer.value }
  }

  /// The directory of the socket and the data.
  let path: String
  private let process = Mutex<LabProcess?>(nil)

  /// Creates a server's files. `initdb` refuses root, so they belong to `postgres` then.
  ///
  /// - Parameter parent: The directory for the files; `nil` for one in memory.
  init(in parent: String? = nil) async throws {
    path = try Self.makeDirectory(in: parent)
    try await run(
      "initdb",
      [
        "-D", "\(path)/data", "-U", "test", "-A", "trust", "--no-sync", "--no-instructions",
        "--locale=C", "-E", "UTF8",
      ])
  }

  /// Creates a copy of a server that was never started.
  init(copyOf other: TestServer) async throws {
    path = try Self.makeDirectory()
    try await Shell.run(["cp", "-a", "\(other.path)/data", "\(path)/data"])
  }

  deinit {
    process.withLock { $0 = nil }
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Creates a directory that `postgres` can reach. The path of a socket has at most 107 bytes.
  private static func makeDirectory(in parent: String? = nil) throws -> String {
    let isRoot = geteuid() == 0
    let parent = parent ?? (isRoot ? "/dev/shm" : NSTemporaryDirectory())
    let id = UUID().uuidString.prefix(8).lowercased()
    let path = "\(parent)/holdfast-pg-\(getpid())-\(id)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    if isRoot { try Shell.wait(for: ["chown", "postgres:postgres", path]) }
    return path
  }

  /// Removes the directories of tests that were killed.
  private static func removeOld() {
    let files = FileManager.default
    for name in (try? files.contentsOfDirectory(atPath: "/dev/shm")) ?? []
    where name.hasPrefix("holdfast-pg-") {
      let owner = name.split(separator: "-").dropFirst(2).first.flatMap { Int32($0) } ?? 0
      if Glibc.kill(owner, 0) != 0 { try? files.removeItem(atPath: "/dev/shm/\(name)") }
    }
  }

  private static func command(_ program: String) -> [String] {
    let program = "\(programs ?? "")/\(program)"
    guard geteuid() == 0 else { return [program] }
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", program]
  }

  @discardableResult
  private func run(_ program: String, _ arguments: [String]) async throws -> String {
    try await Shell.run(Self.command(program) + arguments)
  }

  /// Starts the server with settings, and waits until it accepts connections.
  func start(_ settings: [String] = []) async throws {
    let options = [
      "listen_addresses=", "unix_socket_directories=\(path)", "max_connections=200",
      "shared_buffers=32MB",
    ]
    // After a kill, the children of the former server may still hold its files.
    for _ in 0..<200 {
      let process = try LabProcess(
        Self.command("postgres") + ["-D", "\(path)/data"]
          + (options + settings).flatMap { ["-c", $0] }, endsWithParent: true)
      var isReady = false
      for await line in process.diagnostics where line.contains("ready to accept") {
        isReady = true
        break
      }
      if isReady {
        self.process.withLock { $0 = process }
        return
      }
      _ = await process.exit()
    }
    throw Problem(text: "the server does not start")
  }

  /// Ends the server with SIGKILL, as a power failure would.
  func kill() async {
    let process = process.withLock { current in
      defer { current = nil }
      return current
    }
    process?.signal(SIGKILL)
    _ = await process?.exit()
  }

  func promote() async throws { try await run("pg_ctl", ["promote", "-w", "-D", "\(path)/data"]) }

  func write(_ text: String, to name: String) async throws {
    try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
    if geteuid() == 0 {
      try await Shell.run(["chown", "postgres:postgres", "\(path)/\(name)"])
    }
  }

  struct Problem: Error {
    var text: String
  }
}

/// A schema of its own on one or more servers, for one test.
struct TestDatabase {
  let schema: String
  let settings: DatabaseSettings
  let url: String

  init(on servers: [TestServer]? = nil) async throws {
    let servers = if let servers { servers } else { [try await TestServer.shared] }
    schema = "t" + UUID().uuidString.prefix(8).lowercased()
    let hosts = servers.map(\.path).joined(separator: ",")
    url = "postgres://test@/postgres?host=\(hosts)&options=-csearch_path%3D\(schema)"
    settings = try DatabaseSettings(url)
    try execute("CREATE SCHEMA \(schema)")
  }

  /// Executes statements on a connection of their own.
  func execute(_ sql: String) throws {
    let connection = try ServerChoice.open(settings, applicationName: "test", known: 0)
    try connection.runScript(sql, within: .seconds(600))
  }

  /// Returns the rows of a query.
  func rows(_ sql: String) throws -> [Row] {
    let connection = try ServerChoice.open(settings, applicationName: "test", known: 0)
    return try connection.run([Command(sql)])[0]
  }

  func node(
    in directory: String, name: String = "node", secrets: [UInt8] = []
  ) async throws -> DatabaseNode {
    try await DatabaseNode.open(
      settings, in: directory, NodeFacts(name: name, secrets: secrets, version: "1"))
  }
}

/// The nodes of a test, each with a database and a directory of its own, which are closed together.
actor TestNodes {
  private let scratch: Scratch
  private var nodes: [DatabaseNode] = []

  init() throws { scratch = try Scratch() }

  func make() async throws -> DatabaseNode {
    let node = try await TestDatabase().node(in: scratch("\(nodes.count)"))
    nodes.append(node)
    return node
  }

  func close() async {
    for node in nodes { await node.close() }
  }
}
