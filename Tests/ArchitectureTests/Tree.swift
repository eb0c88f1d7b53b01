import Foundation

/// The files of this package, and the contents of those with text.
struct Tree: Sendable {
  let root: URL
  let files: [SourceFile]
  /// The size of each file in bytes, by its path.
  let sizes: [String: Int]

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
    var (files, sizes): ([SourceFile], [String: Int]) = ([], [:])
    for path in Self.paths(under: root, prefix: "").sorted() {
      guard let data = try? Data(contentsOf: root.appending(path: path)) else { continue }
      sizes[path] = data.count
      guard !Self.isApples(path), let text = String(data: data, encoding: .utf8) else { continue }
      files.append(SourceFile(path: path, text: text))
    }
    (self.files, self.sizes) = (files, sizes)
  }

  /// Returns whether `.gitignore` excludes a file or folder.
  private static func isIgnored(_ name: String) -> Bool {
    [".git", ".build", ".venv", ".swiftpm", "out"].contains(name)
      || name.hasPrefix(".b-")
      || name.hasSuffix(".profraw")
  }

  /// Returns whether a file is one of the stubs, headers and stand-ins of Apple's modules, whose
  /// declarations are not this package's.
  private static func isApples(_ path: String) -> Bool {
    !Set(path.split(separator: "/")).isDisjoint(with: ["Stubs", "StandIns", "Overlays"])
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
