import Foundation
import HoldfastTestKit

/// A client or server program to compare with, such as a script from `Benchmarks/peers`.
struct Peer: Sendable {
  private var arguments: [String]
  private var environment: [String: String]

  /// Creates a peer that runs the program of a command line.
  init(_ arguments: [String], environment: [String: String] = [:]) {
    (self.arguments, self.environment) = (arguments, environment)
  }

  /// Returns a script for Debian's Python with Debian's modules.
  static func python(_ name: String) -> Peer {
    Peer(["/usr/bin/python3", path(name)])
  }

  /// Returns the path of the Python in which `scripts/bench` installs
  /// `Benchmarks/peers/requirements.txt`.
  static func pinnedPython() throws -> String {
    let python = ".build/bench/venv/bin/python"
    guard FileManager.default.isExecutableFile(atPath: python) else {
      throw Unavailable("no Python packages; scripts/bench installs them into .build/bench/venv")
    }
    return python
  }

  /// Returns a script for the Python that has the pinned packages.
  static func pinned(_ name: String) throws -> Peer {
    Peer([try pinnedPython(), path(name)])
  }

  /// Returns a command of this program.
  static func ours(_ command: String) -> Peer { Peer([program, command]) }

  /// The path of this program.
  static var program: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? CommandLine.arguments[0]
  }

  /// The path of the load generator, which is built into the same directory as this program.
  static var loadGenerator: String { sibling("HoldfastLoadGenerator") }

  /// The path of `holdfast`, which is built into the same directory as this program.
  static var holdfast: String { sibling("holdfast") }

  private static func sibling(_ name: String) -> String {
    URL(filePath: program).deletingLastPathComponent().appending(path: name).path()
  }

  /// Returns a script for the system's Node with Debian's modules.
  static func node(_ name: String, sqlite: Bool = false) throws -> Peer {
    guard FileManager.default.fileExists(atPath: "/usr/share/nodejs/ws") else {
      throw Unavailable("Debian's node-ws is not installed")
    }
    var environment = ["NODE_PATH": "/usr/share/nodejs"]
    if sqlite {
      let directory = "\(FileManager.default.currentDirectoryPath)/.build/bench/node-sqlite"
      let binding = directory + "/node_sqlite3.node"
      guard FileManager.default.fileExists(atPath: binding) else {
        throw Unavailable("Debian's node-sqlite3 is not there; scripts/bench says why")
      }
      environment["SQLITE_BINDING"] = binding
      environment["LD_LIBRARY_PATH"] = directory
    }
    return Peer(["/usr/bin/node", path(name)], environment: environment)
  }

  /// Starts the program with further arguments.
  func start(_ more: [String]) throws -> LabProcess {
    try LabProcess(arguments + more, environment: environment)
  }

  /// Runs the program to its end and returns the figure that it prints.
  func figure(_ more: [String]) async throws -> Double {
    let program = try start(more)
    for await line in program.lines {
      if let figure = Double(line) { return figure }
    }
    throw Unavailable(await program.diagnostics.reduce("it ended without a word") { $1 })
  }

  private static func path(_ name: String) -> String { "Benchmarks/peers/\(name)" }
}
