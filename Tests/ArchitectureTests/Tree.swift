import Foundation

/// The text files of this package.
struct Tree: Sendable {
  let root: URL
  let files: [SourceFile]

  static let here = Tree(
    root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent())

  var swift: [SourceFile] { files.filter(\.isSwift) }
  var markdown: [SourceFile] { files.filter(\.isMarkdown) }

  func file(_ path: String) -> SourceFile? { files.first { $0.path == path } }

  func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  /// Runs a script of this package to its end.
  func run(_ script: String, _ option: String) throws -> (status: Int32, output: String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = root.appending(path: script)
    process.arguments = [option]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  /// Returns the names of the folders directly under `path`, sorted.
  func folders(in path: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(
      at: root.appending(path: path), includingPropertiesForKeys: [.isDirectoryKey])
    return (names ?? []).filter(Self.isFolder).map(\.lastPathComponent).sorted()
  }

  private init(root: URL) {
    self.root = root
    files = Self.paths(under: root, prefix: "").sorted().compactMap { path in
      let data = try? Data(contentsOf: root.appending(path: path))
      let text = data.flatMap { String(data: $0, encoding: .utf8) }
      return text.map { SourceFile(path: path, text: $0) }
    }
  }

  /// Returns whether a file or folder is skipped.
  ///
  /// This applies to everything that `.gitignore` excludes, and to the stubs, headers and stand-ins
  /// of Apple's modules, whose declarations are not this package's.
  private static func isIgnored(_ name: String) -> Bool {
    [".git", ".build", ".venv", ".swiftpm", "out", "Stubs", "StandIns", "Overlays"].contains(name)
      || name.hasPrefix(".b-")
      || name.hasSuffix(".profraw")
  }

  private static func isFolder(_ url: URL) -> Bool {
    (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) ?? false
  }

  private static func paths(under folder: URL, prefix: String) -> [String] {
    let found = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: [.isDirectoryKey])
    return (found ?? []).filter { !isIgnored($0.lastPathComponent) }.flatMap { url in
      let path = prefix + url.lastPathComponent
      return isFolder(url) ? paths(under: url, prefix: path + "/") : [path]
    }
  }
}
