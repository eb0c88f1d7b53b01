import Foundation
import HoldfastOwnerFiles
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A PostgreSQL primary with a synchronous standby.
struct DatabasePair: Sendable {
  private static let user = "holdfast"

  let primary: DatabaseServer
  let standby: DatabaseServer
  private let folder: String
  private let programs: DatabasePrograms

  /// Creates a pair that does not run.
  ///
  /// - Parameters:
  ///   - folder: The folder for the files, which does not exist yet. If root starts the servers, another
  ///     user runs them, who may not reach it; the files are in `/tmp` then.
  ///   - port: The first of the TCP ports of the two servers.
  init(_ programs: DatabasePrograms, in folder: String, from port: UInt16) {
    let ports = (port, port + 1)
    let folder =
      geteuid() == 0 ? "/tmp/holdfast-database-\(UUID().uuidString.prefix(8))" : folder
    (self.programs, self.folder) = (programs, folder)
    let source = "host=127.0.0.1 port=\(ports.0) user=\(Self.user) application_name=standby"
    primary = DatabaseServer(
      programs, data: folder + "/a", port: ports.0, ["synchronous_standby_names=standby"])
    standby = DatabaseServer(
      programs, data: folder + "/b", port: ports.1,
      ["primary_conninfo=\(source)", "wal_retrieve_retry_interval=100ms"])
  }

  /// The URL that names both servers.
  var url: String {
    "postgres://\(Self.user)@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/postgres"
  }

  /// Creates the files, and starts both servers.
  ///
  /// The standby is a copy of the primary's files from before its first start.
  func start() async throws(DemoFailure) {
    let password = folder + "/password"
    try await programs.makeFolder(folder)
    try DemoEnvironment.checked { () throws(OwnerFileError) in
      try OwnerFile(password, maxBytes: 100, isSecret: true)
        .replace(with: Array(programs.password.utf8))
    }
    try await programs.own(password)
    try await programs.run(
      "initdb", "-D", primary.data, "-U", Self.user, "-A", "scram-sha-256",
      "--pwfile", password, "--no-sync", "--no-instructions", "--locale=C", "-E", "UTF8",
      "--wal-segsize=1")
    try await programs.shell("cp", "-a", primary.data, standby.data)
    try await programs.shell("touch", standby.data + "/standby.signal")
    try await primary.start()
    try await standby.start()
  }

  /// Kills the primary, and promotes the standby, which has no standby then.
  func failOver() async throws(DemoFailure) {
    await primary.kill()
    try await programs.run("pg_ctl", "promote", "-w", "-D", standby.data)
  }

  /// Ends the connections over which nodes report to each other.
  func cutReports() async throws(DemoFailure) {
    try await programs.run(
      "psql", "-h", "127.0.0.1", "-p", String(primary.port), "-U", Self.user, "-d", "postgres",
      "-qAtc",
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE '%pg_notify%' AND pid <> pg_backend_pid()
      """)
  }

  /// Ends both servers, and removes their files.
  func end() async {
    await standby.end()
    await primary.end()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// A server of a pair.
actor DatabaseServer {
  nonisolated let data: String
  nonisolated let port: UInt16
  private let programs: DatabasePrograms
  private let settings: [String]
  private var process: LabProcess?

  init(_ programs: DatabasePrograms, data: String, port: UInt16, _ settings: [String]) {
    (self.programs, self.data, self.port) = (programs, data, port)
    // Only processes are killed here, so that nothing has to be on the disk.
    self.settings =
      [
        "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=",
        "shared_buffers=32MB", "dynamic_shared_memory_type=mmap", "fsync=off",
      ] + settings
  }

  /// Starts the server. Returns once it accepts connections.
  func start() async throws(DemoFailure) {
    var complaint = ""
    // After a kill, the children of the former server may still hold its files.
    for _ in 0..<50 {
      let process = try programs.launch(
        "postgres", ["-D", data] + settings.flatMap { ["-c", $0] })
      self.process = process
      for await line in process.diagnostics {
        if line.contains("ready to accept") { return }
        complaint = line
      }
      guard !Task.isCancelled else { throw .interrupted }
      _ = await process.exit()
      try? await Task.sleep(for: .milliseconds(100))
    }
    throw .setup("PostgreSQL did not start: \(complaint)")
  }

  /// Kills the server.
  func kill() async {
    process?.signal(SIGKILL)
    _ = await process?.exit()
    process = nil
  }

  /// Ends the server at once, and removes what it shared with its children if it was killed.
  func end() async {
    process?.signal(SIGQUIT)
    _ = await process?.exit()
    process = nil
    // A server that was killed leaves a segment of System V, whose ID is in the seventh line.
    let lines = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false)
    guard let lines, lines.count > 6, let id = lines[6].split(separator: " ").last else { return }
    _ = try? await Shell.run(["ipcrm", "--shmem-id", String(id)])
  }
}

/// The programs of PostgreSQL on this machine, and how they are run.
struct DatabasePrograms: Sendable {
  private let folder: String
  /// The password of the servers' user.
  let password = UUID().uuidString

  /// Finds the programs of the newest version. Returns `nil` if there are none.
  init?() {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let newest = versions.compactMap(Int.init).max().map { "\(root)/\($0)/bin" }
    let other = Shell.find("initdb").map { String($0.dropLast("/initdb".count)) }
    guard let folder = newest ?? other else { return nil }
    self.folder = folder
  }

  /// Variables for programs that connect to the servers.
  var environment: [String: String] { ["PGPASSWORD": password] }

  /// The beginning of a command line. The programs refuse root, and need a folder that they can enter.
  private var prefix: [String] {
    guard geteuid() == 0 else { return [] }
    return [
      "env", "--chdir=/", "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
    ]
  }

  /// Starts a program of PostgreSQL.
  func launch(_ program: String, _ arguments: [String]) throws(DemoFailure) -> LabProcess {
    try launch(["\(folder)/\(program)"] + arguments)
  }

  /// Runs a program of PostgreSQL.
  func run(_ program: String, _ arguments: String...) async throws(DemoFailure) {
    try await finish(["\(folder)/\(program)"] + arguments)
  }

  /// Runs another program as the user of the servers.
  func shell(_ command: String...) async throws(DemoFailure) { try await finish(command) }

  private func launch(_ command: [String]) throws(DemoFailure) -> LabProcess {
    let process = try? LabProcess(
      prefix + command, environment: environment, endsWithParent: true)
    guard let process else { throw .setup("\(command[0]) could not be started") }
    return process
  }

  private func finish(_ command: [String]) async throws(DemoFailure) {
    let outcome = await CommandProcess.outcome(of: try launch(command))
    guard !Task.isCancelled else { throw .interrupted }
    guard outcome.status == 0 else {
      throw .setup("\(command[0]) failed: \(outcome.errors.last ?? "status \(outcome.status)")")
    }
  }

  /// Creates a folder for the servers' user.
  func makeFolder(_ path: String) async throws(DemoFailure) {
    let files = FileManager.default
    do {
      try files.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .setup("\(path) could not be created: \(error)")
    }
    try await own(path)
  }

  /// Gives a file or folder to the servers' user.
  func own(_ path: String) async throws(DemoFailure) {
    guard geteuid() == 0 else { return }
    do {
      try await Shell.run(["chown", "postgres:", path])
    } catch {
      throw .setup("\(error)")
    }
  }
}
