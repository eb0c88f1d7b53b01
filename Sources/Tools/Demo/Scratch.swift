import Foundation

/// A directory of this run alone, which is gone when the run is over.
struct Scratch: Sendable {
  let path: String

  init() throws(DemoFailure) {
    let place = FileManager.default.temporaryDirectory
    let url = place.appendingPathComponent("holdfast-demo-\(UUID().uuidString)")
    do {
      try FileManager.default.createDirectory(
        at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .setup("no temporary directory could be made in \(place.path)")
    }
    path = url.path
  }

  /// Replaces a file of it at once, so that no reader sees half of it.
  func write(_ text: String, to name: String) throws(DemoFailure) {
    do {
      try Data((text + "\n").utf8)
        .write(to: URL(fileURLWithPath: "\(path)/\(name)"), options: .atomic)
    } catch {
      throw .setup("\(name) could not be written in \(path)")
    }
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}

extension Demo {
  /// The file of the running program; `nil` where it cannot be told.
  public static var ownProgram: String? {
    #if os(Linux)
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #else
      Bundle.main.executablePath
    #endif
  }
}
