import Foundation
import HoldfastChildProcesses
import HoldfastJSON
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A backend in a process of its own, which is started again on the same port with the same data.
actor LabBackend {
  /// The data directory.
  nonisolated let directory: String
  private let program: String
  private let options: [String]
  private let environment: [String: String]
  private var process: LabProcess?
  private(set) var port: UInt16

  /// Creates a backend that does not run.
  ///
  /// - Parameters:
  ///   - port: The TCP port; 0 for a free one.
  ///   - options: Further options of `serve`.
  ///   - environment: Variables that are added to those of this process.
  init(
    program: String, directory: String, port: UInt16 = 0,
    options: [String] = ["--ping-interval", "5s", "--pong-timeout", "8s"],
    environment: [String: String] = [:]
  ) {
    (self.program, self.directory, self.port) = (program, directory, port)
    (self.options, self.environment) = (options, environment)
  }

  /// The address that bypasses the network's faults.
  var url: String { "http://127.0.0.1:\(port)" }

  /// Starts the backend. Returns once it accepts connections.
  func start() async throws(DemoFailure) {
    let arguments = [
      program, "serve", "--port", String(port), "--data", directory, "--json",
      "--log-format", "text", "--drain-window", "2s",
    ]
    let started = try? LabProcess(
      arguments + options, environment: environment, endsWithParent: true)
    guard let process = started else {
      throw .setup("the backend's process could not be started")
    }
    self.process = process
    for await line in process.lines {
      guard let port = Self.port(in: line) else { continue }
      self.port = port
      return
    }
    var complaint = ""
    for await line in process.diagnostics { complaint = line }
    self.process = nil
    guard !Task.isCancelled else { throw .interrupted }
    throw .setup("the backend did not start: \(complaint)")
  }

  /// Asks the backend to end, and waits for it. It is killed after `limit`. Returns whether it ended
  /// by itself, with the status 0.
  @discardableResult func stop(within limit: Duration = .seconds(5)) async -> Bool {
    guard let process else { return true }
    process.signal(SIGTERM)
    let patience = Task {
      try? await Task.sleep(for: limit)
      if !Task.isCancelled { process.signal(SIGKILL) }
    }
    let ending = await process.ended()
    patience.cancel()
    self.process = nil
    return ending == .exited(0)
  }

  /// Sends a signal to the process.
  func signal(_ number: Int32) { process?.signal(number) }

  func kill() async {
    process?.signal(SIGKILL)
    _ = await process?.exit()
    process = nil
  }

  /// Removes the keys that sign and prove tokens. The backend creates others when it starts.
  func forgetKeys() {
    for name in ["secret", "session-key", "sync-secrets"] {
      try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
    }
  }

  /// Returns the port in the line that announces the address.
  private static func port(in line: String) -> UInt16? {
    var reader = JSONReader(Array(line.utf8))
    var address: String?
    do throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.text(of: key) == "url" {
          address = try reader.string()
        } else {
          try reader.skipValue()
        }
      }
    } catch {
      return nil
    }
    return address?.split(separator: ":").last.flatMap { UInt16($0) }
  }
}
