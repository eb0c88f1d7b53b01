import Foundation
import HoldfastUI

/// The files of Examples/HoldfastApp, with a function for each kind of disagreement among them.
///
/// A test changes single parts of a value, and expects that the change is found.
struct ExampleApp {
  var info: [String: Any]
  var entitlements: [String: Any]
  var privacy: [String: Any]
  var project: XcodeProject
  /// The scheme with which Xcode builds the app.
  var scheme: String
  /// The Swift sources, by their path in the folder of the app.
  var sources: [String: String]
  /// The paths of all other files of the app, without those of the project.
  var others: Set<String>
  /// The string catalogs, by their name without extension.
  var catalogs: [String: StringCatalog]
  /// The pages of requirements, as one text.
  var requirements: String
  var manifest: String
  var changes: String
  /// The page of the app.
  var readme: String

  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  static let folder = root.appending(path: "Examples/HoldfastApp")

  /// Reads all files.
  init() throws {
    info = try Self.list("Info.plist")
    entitlements = try Self.list("HoldfastApp.entitlements")
    privacy = try Self.list("PrivacyInfo.xcprivacy")
    project = try XcodeProject(Self.list("HoldfastApp.xcodeproj/project.pbxproj"))
    let schemes = "HoldfastApp.xcodeproj/xcshareddata/xcschemes/HoldfastApp.xcscheme"
    scheme = try Self.text(Self.folder.appending(path: schemes))
    let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path)
      .filter { $0.contains(".") && !$0.hasPrefix("HoldfastApp.xcodeproj") }
    sources = [:]
    for path in paths where path.hasSuffix(".swift") {
      sources[path] = try Self.text(Self.folder.appending(path: path))
    }
    others = Set(paths).subtracting(sources.keys)
    catalogs = [:]
    for path in paths where path.hasSuffix(".xcstrings") {
      let data = try Data(contentsOf: Self.folder.appending(path: path))
      catalogs[String(path.dropLast(".xcstrings".count))] = try StringCatalog(data)
    }
    let pages = Self.root.appending(path: "docs/requirements")
    requirements = try FileManager.default.contentsOfDirectory(atPath: pages.path).sorted()
      .map { try Self.text(pages.appending(path: $0)) }.joined(separator: "\n")
    manifest = try Self.text(Self.root.appending(path: "Package.swift"))
    changes = try Self.text(Self.root.appending(path: "CHANGELOG.md"))
    readme = try Self.text(Self.folder.appending(path: "README.md"))
  }

  static func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  private static func list(_ path: String) throws -> [String: Any] {
    let data = try Data(contentsOf: folder.appending(path: path))
    let list = try unsafe PropertyListSerialization.propertyList(from: data, format: nil)
    return list as? [String: Any] ?? [:]
  }

  /// The lines of all sources without comments.
  var code: String {
    sources.sorted { $0.key < $1.key }.flatMap { $0.value.split(separator: "\n") }
      .filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
  }

  /// The background modes, and the task identifiers that the system accepts.
  var modes: [String] { info["UIBackgroundModes"] as? [String] ?? [] }
  var tasks: [String] { info["BGTaskSchedulerPermittedIdentifiers"] as? [String] ?? [] }
}

// MARK: What the code needs

/// A declaration that the system wants of an app.
enum Declaration: Hashable {
  case mode(String)
  case key(String)
  case entitlement(String)
}

extension ExampleApp {
  /// The calls for which the system wants declarations.
  static let needs: [(call: String, declarations: [Declaration])] = [
    (
      "CoreBluetoothCentral(",
      [.mode("bluetooth-central"), .key("NSBluetoothAlwaysUsageDescription")]
    ),
    ("SystemWakes(", [.mode("fetch"), .key("BGTaskSchedulerPermittedIdentifiers")]),
    ("isLong: true", [.mode("processing")]),
    (
      "registerForRemoteNotifications(",
      [.mode("remote-notification"), .entitlement("aps-environment")]
    ),
    (
      "HealthKitSource(",
      [
        .entitlement("com.apple.developer.healthkit"),
        .entitlement("com.apple.developer.healthkit.background-delivery"),
        .key("NSHealthShareUsageDescription"), .key("NSHealthUpdateUsageDescription"),
      ]
    ),
    ("\"http://", [.key("NSAppTransportSecurity"), .key("NSLocalNetworkUsageDescription")]),
  ]

  /// The declarations that a document asks for, although the app does without them.
  static let unused: Set<Declaration> = [.mode("processing")]

  /// The declarations of Info.plist and the entitlements for which a call must exist.
  private var declared: Set<Declaration> {
    let keys = info.keys.filter { key in
      key.hasSuffix("UsageDescription")
        || ["BGTaskSchedulerPermittedIdentifiers", "NSAppTransportSecurity"].contains(key)
    }
    return Set(modes.map { .mode($0) } + keys.map { .key($0) })
      .union(entitlements.keys.map { .entitlement($0) })
  }

  /// Returns each call without its declarations, and each declaration that neither a call nor a
  /// document needs.
  func undeclared() -> [String] {
    let code = code
    let used = Self.needs.filter { code.contains($0.call) }
    let needed = Set(used.flatMap(\.declarations))
    return needed.subtracting(declared).map { "the code needs \($0)" }.sorted()
      + declared.subtracting(needed).subtracting(Self.unused).map { "no code needs \($0)" }
      .sorted()
      + Self.unused.intersection(needed).map { "the code does need \($0)" }
      + Self.unused.subtracting(declared).map { "\($0) is missing" }
  }

  /// Returns the disagreement about Apple's service for pushes.
  func wrongPushes() -> [String] {
    let isDevelopment = entitlements["aps-environment"] as? String == "development"
    return code.contains("pushEnvironment = .sandbox") == isDevelopment
      ? [] : ["the code and aps-environment name two services"]
  }

  /// Returns the identifiers of background tasks that the code and Info.plist do not share.
  func wrongTasks() -> [String] {
    var found: [String] = []
    if !code.contains("tasks: [router.task]") { found.append("the code registers another task") }
    if code.contains("router.task =") { found.append("the code renames the task") }
    if tasks != [HoldfastLinks.refreshTask] { found.append("Info.plist permits \(tasks)") }
    return found
  }

  /// Returns the identifiers under which the system keeps something for the app, and which are not
  /// constants with the bundle's identifier as prefix, each for one purpose.
  func wrongIdentifiers(_ names: [String]) -> [String] {
    let bundle = project.setting("PRODUCT_BUNDLE_IDENTIFIER") ?? ""
    let foreign = names.filter { bundle.isEmpty || !$0.hasPrefix(bundle + ".") }
    let unwritten = names.filter { !code.contains("\"\($0)\"") }
    return (foreign + unwritten).map { "\($0) is not a constant of the app" }
      + (Set(names).count == names.count ? [] : ["one identifier has two purposes"])
  }

  /// Returns the keys and entitlements that no row of the requirements names.
  func unexplained() -> [String] {
    let rows = requirements.split(separator: "\n").filter { $0.hasPrefix("| ") }
    let names = Array(info.keys) + entitlements.keys + modes
    return names.filter { name in !rows.contains { $0.contains("`\(name)`") } }.sorted()
  }
}

// MARK: The project

/// A project file of Xcode.
struct XcodeProject {
  var objects: [String: [String: Any]]
  let root: String

  init(_ list: [String: Any]) {
    objects = list["objects"] as? [String: [String: Any]] ?? [:]
    root = list["rootObject"] as? String ?? ""
  }

  /// The objects of a kind, sorted by their identifiers.
  func all(_ kind: String) -> [[String: Any]] {
    objects.sorted { $0.key < $1.key }.map(\.value).filter { $0["isa"] as? String == kind }
  }

  /// Returns the values of a build setting in all configurations, if they agree.
  func setting(_ name: String) -> String? {
    let values = all("XCBuildConfiguration").compactMap {
      ($0["buildSettings"] as? [String: Any])?[name] as? String
    }
    return Set(values).count == 1 ? values.first : nil
  }

  /// Returns the paths of the files in build phases of a kind.
  func files(in phase: String) -> [String] {
    let paths = paths
    return all(phase).flatMap { $0["files"] as? [String] ?? [] }.map { id in
      let file = objects[id]?["fileRef"] as? String
      return file.flatMap { paths[$0] } ?? "the unknown file \(id)"
    }.sorted()
  }

  /// The products of the local package that the app links.
  var products: [String] {
    all("XCSwiftPackageProductDependency").compactMap { $0["productName"] as? String }.sorted()
  }

  /// The identifiers that are named but not declared.
  var missing: [String] {
    let named = objects.values.flatMap { object in
      object.values.flatMap { value -> [String] in
        if let list = value as? [String] { return list }
        return (value as? String).map { [$0] } ?? []
      }
    }
    return named.filter { $0.count == 24 && $0.hasPrefix("F0") && objects[$0] == nil }.sorted()
  }

  /// The path of each file that a group contains, by its identifier.
  var paths: [String: String] {
    var found: [String: String] = [:]
    func read(_ id: String, _ prefix: String) {
      for child in objects[id]?["children"] as? [String] ?? [] {
        let own = objects[child]?["path"] as? String
        let path = own.map { prefix + $0 } ?? prefix
        if objects[child]?["isa"] as? String == "PBXGroup" {
          read(child, own == nil ? prefix : path + "/")
        } else {
          found[child] = path
        }
      }
    }
    read(objects[root]?["mainGroup"] as? String ?? "", "")
    return found
  }
}

extension ExampleApp {
  /// Returns the files that the project and the folder do not share.
  func wrongFiles() -> [String] {
    let resources = others.filter { $0.hasSuffix(".xcstrings") || $0.hasSuffix(".xcprivacy") }
    let built = project.files(in: "PBXSourcesBuildPhase")
    let copied = project.files(in: "PBXResourcesBuildPhase")
    let shown = Set(project.paths.values).subtracting(["HoldfastApp.app"])
    return built.diff(sources.keys.sorted(), "is compiled")
      + copied.diff(resources.sorted(), "is copied")
      + shown.sorted().diff(others.union(sources.keys).sorted(), "is shown")
      + project.missing.map { "the project declares no \($0)" }
  }

  /// Returns the settings of the project that contradict the package.
  func wrongSettings() -> [String] {
    let system = (project.setting("IPHONEOS_DEPLOYMENT_TARGET") ?? "").prefix { $0 != "." }
    let version = project.setting("MARKETING_VERSION") ?? ""
    let place = project.all("XCLocalSwiftPackageReference").map { $0["relativePath"] as? String }
    let offered = products.map(\.name)
    var found = project.products.filter { !offered.contains($0) }
      .map { "the package has no product \($0)" }
    if system.isEmpty || !manifest.contains(".iOS(.v\(system))") {
      found.append("the manifest has another version than iOS \(system)")
    }
    if project.setting("SWIFT_VERSION") != "6.0" { found.append("another language mode than 6") }
    if !manifest.contains(".swiftLanguageMode(.v6)") {
      found.append("the manifest is not in mode 6")
    }
    if !changes.contains("## \(version)\n") { found.append("the changelog has no \(version)") }
    let target = project.objects.first { $0.value["isa"] as? String == "PBXNativeTarget" }?.key
    if !scheme.contains("BlueprintIdentifier=\"\(target ?? "none")\"") {
      found.append("the scheme builds another target")
    }
    if place != ["../.."] { found.append("the package is at \(place)") }
    for (name, file) in [
      "INFOPLIST_FILE": "Info.plist", "CODE_SIGN_ENTITLEMENTS": "HoldfastApp.entitlements",
    ] where project.setting(name) != file { found.append("\(name) is not \(file)") }
    return found
  }

  /// Returns the modules that the sources import, but that no linked product contains.
  func wrongImports() -> [String] {
    let modules = code.split(separator: "\n").filter { $0.hasPrefix("import Holdfast") }
      .map { String($0.dropFirst("import ".count)) }
    let linked = products.filter { project.products.contains($0.name) }.flatMap(\.modules)
    return Set(modules).subtracting(linked).sorted()
      .map { "no product of the project contains \($0)" }
  }

  /// The library products of the package, with their modules.
  var products: [(name: String, modules: [String])] {
    let parts = (manifest.split(separator: "products: [").last ?? "").split(separator: ".library(")
    return parts.dropFirst().compactMap { part in
      let words = part.prefix { $0 != ")" }.split(separator: "\"").enumerated()
        .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
      return words.first.map { ($0, Array(words.dropFirst())) }
    }
  }
}

extension [String] {
  /// Returns the elements that only one of two lists has.
  fileprivate func diff(_ other: [String], _ what: String) -> [String] {
    filter { !other.contains($0) }.map { "\($0) \(what), but is no file" }
      + other.filter { !contains($0) }.map { "no target: \($0) \(what)" }
  }
}

// MARK: Texts

/// A catalog of texts in several languages.
struct StringCatalog {
  /// The translations of each key, by language.
  var texts: [String: [String: String]] = [:]

  init(_ data: Data) throws {
    let file = try JSONDecoder().decode(File.self, from: data)
    for (key, entry) in file.strings {
      texts[key] = entry.localizations?.compactMapValues { $0.stringUnit?.value } ?? [:]
    }
  }

  private struct File: Decodable {
    struct Entry: Decodable { var localizations: [String: Localization]? }
    struct Localization: Decodable { var stringUnit: Unit? }
    struct Unit: Decodable { var value: String }
    var strings: [String: Entry]
  }

  /// The keys that lack English or German, and the differing placeholders of others.
  var problems: [String] {
    texts.sorted { $0.key < $1.key }.flatMap { key, texts -> [String] in
      let missing = ["en", "de"].filter { (texts[$0] ?? "").isEmpty }
      let places = Set(texts.values.map { $0.split(separator: "%").count })
      return missing.map { "\(key): no text in \($0)" }
        + (places.count > 1 ? ["\(key): the placeholders differ"] : [])
    }
  }
}

extension ExampleApp {
  /// The calls whose first argument is a text of the catalog.
  private static let showing = [
    "Text(\"", "Label(\"", "Button(\"", "NavigationLink(\"", "Section(\"", "TextField(\"",
    "SecureField(\"", ".navigationTitle(\"",
  ]

  /// The texts that the screens show.
  var shownTexts: [String] {
    let code = code
    return Self.showing.flatMap { call in
      code.ranges(of: call).map { range in
        String(code[range.upperBound...].prefix { $0 != "\"" })
      }
    }.filter { !$0.contains("\\(") }
  }

  /// Returns the texts that are not translated, and the translations that nothing shows.
  func wrongTexts() -> [String] {
    let known = catalogs["Localizable"]?.texts ?? [:]
    let shown = Set(shownTexts)
    let asked = Set(catalogs["InfoPlist"]?.texts.keys.map(\.self) ?? [])
    let english = catalogs["InfoPlist"]?.texts.compactMapValues { $0["en"] } ?? [:]
    return catalogs.sorted { $0.key < $1.key }.flatMap(\.value.problems)
      + shown.filter { known[$0] == nil }.sorted().map { "\($0): not in the catalog" }
      + known.keys.filter { !shown.contains($0) }.sorted().map { "\($0): no screen shows it" }
      + info.keys.filter { $0.hasSuffix("UsageDescription") }.sorted().flatMap { key -> [String] in
        guard asked.contains(key) else { return ["\(key): not translated"] }
        return english[key] == info[key] as? String ? [] : ["\(key): two English texts"]
      }
  }
}
