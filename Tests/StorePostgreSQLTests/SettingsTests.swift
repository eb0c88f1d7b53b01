import HoldfastCore
import Testing

@testable import HoldfastPostgreSQLStores

@Suite struct SettingsTests {
  @Test(arguments: [
    "postgres://u:secret@h/db", "postgres://h/db?password=secret",
    "postgresql://u:secret@h1,h2:1/db",
  ])
  func `a password in the URL is refused, and not repeated`(url: String) {
    let error = #expect(throws: StoreFailure.self) { try DatabaseSettings(url) }
    let text = "\(error.map { "\($0)" } ?? "")"
    #expect(text.contains("PGPASSFILE"))
    #expect(!text.contains("secret"))
  }

  @Test func `each host of a URL has its port`() throws {
    let hosts = try DatabaseSettings("postgres://u@h1:1,h2:2/db?sslmode=require").hosts
    #expect(hosts.map(\.name) == ["h1:1", "h2:2"])
    #expect(hosts.map { $0.options["sslmode"] } == ["require", "require"])
    #expect(try DatabaseSettings("postgres://h1,h2:7/db").hosts.map(\.name).count == 2)
    #expect(throws: StoreFailure.self) { try DatabaseSettings("mysql://h/db") }
    #expect(throws: StoreFailure.self) { try DatabaseSettings("postgres://h:%zz/db") }
  }
}
