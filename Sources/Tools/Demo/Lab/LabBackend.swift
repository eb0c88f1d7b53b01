import Foundation
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
  private var process: LabProcess?
  private(set) var port: UInt16 = 0

  init(program: String, directory: String) {
    (self.program, self.directory) = (program, directory)
  }

  /// The address that bypasses the network's faults.
  var url: String { "http://127.0.0.1:\(port)" }

  /// Starts the backend. Returns once it accepts connections.
  func start() async throws(DemoFailure) {
    let arguments = [
      program, "serve", "--port", String(port), "--data", directory, "--json",
      "--log-format", "text", "--ping-interval", "5s", "--pong-timeout", "8s",
      "--drain-window", "2s",
    ]
    guard let process = try? LabProcess(arguments, endsWithParent: true) else {
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

  /// Asks the backend to end, and waits for it. It is killed after 5 s.
  func stop() async {
    guard let process else { return }
    process.signal(SIGTERM)
    let patience = Task {
      try? await Task.sleep(for: .seconds(5))
      if !Task.isCancelled { process.signal(SIGKILL) }
    }
    _ = await process.exit()
    patience.cancel()
    self.process = nil
  }

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
