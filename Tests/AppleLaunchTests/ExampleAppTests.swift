import Foundation
import HoldfastBottleData
import HoldfastCore
import HoldfastUI
import Testing

/// Tests that the files of Examples/HoldfastApp agree with each other and with the package. Each
/// comparison is also made with a mistake, which it must find.
@Suite struct ExampleAppTests {
  let app: ExampleApp

  init() throws { app = try ExampleApp() }

  @Test func `the project has each file of the app`() throws {
    #expect(app.wrongFiles() == [])
    #expect(app.sources.count == 12)
    var app = app
    app.sources["App/Forgotten.swift"] = ""
    #expect(app.wrongFiles().count == 2)
    app.sources["App/Forgotten.swift"] = nil
    app.sources["App/Links.swift"] = nil
    #expect(app.wrongFiles().count == 2)
    app.project.objects = app.project.objects.filter { $0.value["productName"] == nil }
    #expect(app.wrongFiles().count > 2)
  }

  @Test func `versions, products and places agree with the package`() {
    #expect(app.wrongSettings() == [])
    #expect(app.project.products.contains("HoldfastUI"))
    var app = app
    app.manifest = app.manifest.replacing(".iOS(.v18)", with: ".iOS(.v19)")
      .replacing("name: \"HoldfastUI\"", with: "name: \"HoldfastScreens\"")
    app.changes = app.changes.replacing("## 0.1.0", with: "## 0.2.0")
    app.scheme = ""
    #expect(app.wrongSettings().count == 4)
  }

  @Test func `the project links a product for each import`() {
    #expect(app.wrongImports() == [])
    var app = app
    app.manifest = app.manifest.replacing("\"HoldfastBackgroundUploads\"]", with: "]")
    #expect(app.wrongImports().count == 1)
  }

  @Test func `what the code uses is declared, and nothing else is`() {
    #expect(app.undeclared() == [])
    for (call, declarations) in ExampleApp.needs {
      let isUnused = ExampleApp.unused.isSuperset(of: declarations)
      #expect(app.code.contains(call) != isUnused, "no code needs \(declarations)")
    }
    var app = app
    app.info["UIBackgroundModes"] = ["fetch", "remote-notification", "bluetooth-central", "audio"]
    app.info["NSHealthShareUsageDescription"] = nil
    app.entitlements["com.apple.developer.healthkit.background-delivery"] = nil
    // A missing and an unknown mode, a missing key, and a missing entitlement.
    #expect(app.undeclared().count == 4)
  }

  @Test func `a mode that no code uses is kept as long as that is so`() {
    var app = app
    app.sources["App/Long.swift"] = "let task = WakeTask(\"long\", isLong: true)"
    #expect(app.undeclared() == ["the code does need mode(\"processing\")"])
    app.info["UIBackgroundModes"] = app.modes.filter { $0 != "processing" }
    #expect(app.undeclared().count == 3)
  }

  @Test func `the code and the entitlements name the same service for pushes`() {
    #expect(app.wrongPushes() == [])
    var app = app
    app.entitlements["aps-environment"] = "production"
    #expect(app.wrongPushes() != [])
  }

  @Test func `the system permits the background task that the code schedules`() {
    #expect(app.wrongTasks() == [])
    var app = app
    app.info["BGTaskSchedulerPermittedIdentifiers"] = ["com.example.holdfast.refresh"]
    #expect(app.wrongTasks().count == 1)
  }

  @Test func `identifiers that the system keeps are constants with one purpose each`() {
    let names = ["bottle", "uploads", "secrets"].map { "com.example.holdfast.\($0)" }
    #expect(app.wrongIdentifiers(names) == [])
    #expect(app.wrongIdentifiers(names + [names[0]]) != [])
    #expect(app.wrongIdentifiers(["org.other.bottle"]) != [])
    #expect(app.wrongIdentifiers(["com.example.holdfast.unknown"]) != [])
  }

  @Test func `each key, mode and entitlement has a row in the requirements`() {
    #expect(app.unexplained() == [])
    var app = app
    app.info["NSCameraUsageDescription"] = "A photo of the bottle."
    #expect(app.unexplained() == ["NSCameraUsageDescription"])
  }

  @Test func `only the local network may be used without TLS`() throws {
    let security = try #require(app.info["NSAppTransportSecurity"] as? [String: Any])
    #expect(security.keys.sorted() == ["NSAllowsLocalNetworking"])
    #expect(app.info["ITSAppUsesNonExemptEncryption"] as? Bool == false)
  }

  @Test func `each text of the screens and of the system's questions is in English and German`() {
    #expect(app.wrongTexts() == [])
    #expect(app.shownTexts.count >= 10)
    var app = app
    app.catalogs["Localizable"]?.texts["Shop"]?["de"] = nil
    app.catalogs["Localizable"]?.texts["Unseen"] = ["en": "Unseen", "de": "Ungesehen"]
    app.info["NSBluetoothAlwaysUsageDescription"] = "Another text."
    #expect(app.wrongTexts().count == 3)
  }

  @Test func `the privacy manifest names health data, and no tracking`() throws {
    let collected = app.privacy["NSPrivacyCollectedDataTypes"] as? [[String: Any]] ?? []
    let types = collected.compactMap { $0["NSPrivacyCollectedDataType"] as? String }
    #expect(types.contains("NSPrivacyCollectedDataTypeHealth"))
    #expect(collected.allSatisfy { $0["NSPrivacyCollectedDataTypeTracking"] as? Bool == false })
    #expect(app.privacy["NSPrivacyTracking"] as? Bool == false)
  }

  @Test func `without the system's picker the app declares no accessories`() {
    #expect(!app.code.contains("ASAccessorySession"))
    #expect(app.info.keys.filter { $0.hasPrefix("NSAccessorySetup") } == [])
    // The note of README.md for an app that has the picker.
    let service = BottleAttribute.service.description.uppercased()
    #expect(app.readme.contains(service))
  }

  @Test func `the README of the package shows the app that is type-checked`() throws {
    let page = try ExampleApp.text(ExampleApp.root.appending(path: "README.md"))
    let checked = try ExampleApp.text(
      ExampleApp.root.appending(path: "Apple/Checks/Passing/WholeApp.swift"))
    #expect(page.contains("```swift\n\(checked)```\n"))
  }

  @Test(arguments: ["Screens", "Uploads"])
  func `the page of features shows the code that is type-checked`(file: String) throws {
    let page = try ExampleApp.text(ExampleApp.root.appending(path: "docs/apps.md"))
    let lines = try ExampleApp.text(
      ExampleApp.root.appending(path: "Apple/Checks/Passing/\(file).swift")
    ).split(separator: "\n")
    let first = try #require(lines.firstIndex(of: "  // docs/apps.md >"))
    let last = try #require(lines.firstIndex(of: "  // docs/apps.md <"))
    let example = lines[(first + 1)..<last].map { $0.dropFirst(2) + "\n" }.joined()
    #expect(!example.isEmpty)
    #expect(page.contains("```swift\n\(example)```\n"))
  }
}
