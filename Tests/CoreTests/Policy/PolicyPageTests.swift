import Foundation
import HoldfastCore
import Testing

/// Tests that docs/policies.md explains every key of a policy, and states its value in every
/// preset.
@Suite struct PolicyPageTests {
  @Test func `the page has every key, with its value in every preset`() throws {
    var (columns, explained): ([String], Set<String>) = ([], [])
    var listed: [String: Set<String>] = [:]
    for cells in try Self.rows() {
      if cells[0] == "key" {
        columns = Array(cells.dropFirst())
      } else if columns.count < LinkPolicy.presets.count {
        explained.insert(cells[0])
      } else {
        for (name, value) in zip(columns, cells.dropFirst()) {
          let preset = try #require(LinkPolicy.preset(named: name))
          let known = preset.values.first { $0.key == cells[0] }?.value
          #expect(value == known ?? "–", "\(cells[0]) of \(name)")
          listed[name, default: []].insert(cells[0])
        }
      }
    }
    let keys = Set(PolicyKey.all.map(\.name))
    #expect(explained == keys)
    #expect(Set(listed.keys) == Set(LinkPolicy.presets.map(\.name)))
    for (name, names) in listed { #expect(names == keys, "\(name)") }
  }

  /// Returns the cells of the page's tables, without the code marks.
  private static func rows() throws -> [[String]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../..").standardizedFileURL
    let page = try String(contentsOf: root.appending(path: "docs/policies.md"), encoding: .utf8)
    return page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
      line.split(separator: "|").map {
        $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces)
      }
    }
  }
}
