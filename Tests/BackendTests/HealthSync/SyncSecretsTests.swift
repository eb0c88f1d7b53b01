import Foundation
import HoldfastTestKit
import HoldfastServerCore
import HoldfastStorage
import HoldfastWire
import Testing

@testable import HoldfastBackend

@Suite struct SyncSecretsTests {
  private static func secrets(_ text: String) throws(SyncSecretsFault) -> SyncSecrets {
    try SyncSecrets(Array(text.utf8))
  }

  @Test func `each line contains a user, a secret and an optional time zone`() throws {
    let secrets = try Self.secrets("# users\n\n  ann s3cret Europe/Berlin\r\nben\tother\n")
    #expect(secrets.users == [SyncUser("ann", zone: "Europe/Berlin"), SyncUser("ben")])
    #expect(secrets.user(of: "s3cret") == SyncUser("ann", zone: "Europe/Berlin"))
    #expect(secrets.user(of: "other") == SyncUser("ben"))
    for wrong in [nil, "", "S3cret", "s3cre", "s3cret ", "ann"] {
      #expect(secrets.user(of: wrong) == nil)
    }
  }

  @Test func `a phone's choice ends with the secret that it sent`() throws {
    let sign = { (text: [UInt8]) in SyncHasher().digest([7] + text) }
    let secrets = try Self.secrets("ann one Etc/UTC\nben two")
    let user = SyncedUser("ann", proof: secrets.proof(of: "ann", signing: sign))
    #expect(user.proof != nil)
    #expect(secrets.owner(of: user, signing: sign) == SyncUser("ann", zone: "Etc/UTC"))
    #expect(secrets.owner(of: user, signing: { SyncHasher().digest($0) }) == nil)
    #expect(secrets.owner(of: SyncedUser("ann"), signing: sign) == nil)
    #expect(secrets.owner(of: SyncedUser("ben", proof: user.proof), signing: sign) == nil)
    #expect(secrets.proof(of: "eve", signing: sign) == nil)
    for text in ["ann other", "ann two\nben one", "ben one"] {
      #expect(try Self.secrets(text).owner(of: user, signing: sign) == nil)
    }
    #expect(try Self.secrets("ann one").owner(of: user, signing: sign) == SyncUser("ann"))
  }

  @Test(
    arguments: [
      ("", .empty), ("# nobody\n", .empty), ("ann", .fields(line: 1)),
      ("ann a\nben", .fields(line: 2)), ("ann a Europe/Berlin x", .fields(line: 1)),
      ("\nann a Nowhere/Town", .zone(line: 2, name: "Nowhere/Town")),
      ("ann a\n\nann b", .sameUser(line: 3, as: 1)), ("ann a\nben a", .sameSecret(line: 2, as: 1)),
    ] as [(String, SyncSecretsFault)])
  func `the error names an invalid line`(text: String, fault: SyncSecretsFault) {
    #expect(throws: fault) { try Self.secrets(text) }
  }

  @Test(arguments: [-1, 0, 1])
  func `names and secrets have a maximum length`(beyond: Int) {
    let name = String(repeating: "n", count: SyncSecrets.maxNameBytes + beyond)
    let secret = String(repeating: "s", count: SyncSecrets.maxSecretBytes + beyond)
    #expect(((try? Self.secrets("\(name) s")) == nil) == (beyond > 0))
    #expect(((try? Self.secrets("n \(secret)")) == nil) == (beyond > 0))
  }

  @Test func `no error contains a secret`() {
    for text in ["ann hush x y", "ann hush Nowhere", "ann hush\nben hush", "hush"] {
      do {
        _ = try Self.secrets(text)
      } catch {
        #expect(!error.description.contains("hush"))
        #expect(error.description.contains("line "))
      }
    }
  }

  @Test func `a missing file is created with a new secret, accessible only by its owner`() throws {
    let scratch = try Scratch()
    let path = scratch("new/secrets")
    let (first, isOpen) = try SyncSecrets.open(path)
    #expect(first.users == [SyncUser("me")] && !isOpen)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let secret = try #require(text.split(separator: " ").last).trimmingCharacters(
      in: .whitespacesAndNewlines)
    #expect(secret.count == 43)
    #expect(try SyncSecrets.open(path).secrets.user(of: secret) == SyncUser("me"))
    let other = try SyncSecrets.open(scratch("other")).secrets
    #expect(other.user(of: secret) == nil)
  }

  @Test func `a file that others can read is used and reported`() throws {
    let scratch = try Scratch()
    let path = scratch("open")
    try Data("ann s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let (secrets, isOpen) = try SyncSecrets.open(path)
    #expect(secrets.users == [SyncUser("ann")] && isOpen)
  }

  @Test func `an error in the file names the file and the line`() throws {
    let scratch = try Scratch()
    let path = scratch("bad")
    try Data("ann\n".utf8).write(to: URL(fileURLWithPath: path))
    #expect(
      throws: BackendError.file(
        path: path,
        detail: "line 1: write USER SECRET, and a time zone if one is wanted")
    ) { try SyncSecrets.open(path) }
  }

  /// The test vectors of the contract.
  @Test(arguments: [
    (
      "HKQuantityTypeIdentifierHeartRate", "2026-01-18T20:00:00Z", "2026-01-18T20:00:00Z", 72.0,
      "92e912675fccac48fdc40b8cc0769973065a5021667e9ed32e13b98722204d76"
    ),
    (
      "HKQuantityTypeIdentifierActiveEnergyBurned", "2026-01-18T20:00:00Z",
      "2026-01-18T20:01:00Z", 0.731,
      "a626490c2cbee20d77d15dabfd7e8b2316dbc40ba51b4655dc2fd504e066259a"
    ),
    (
      "HKCategoryTypeIdentifierSleepAnalysis", "2026-01-18T04:00:00Z", "2026-01-18T04:30:00Z", 3,
      "bc4515ab72976ac15f1db16266b26473067c03154df38d197f28adc3ed921c36"
    ),
  ])
  func `the hash of a record matches the contract`(
    type: String, start: String, end: String, value: Double, hash: String
  ) throws {
    let text =
      #"{"dataType":"t","records":[{"recordType":"\#(type)","sourceName":"Apple Watch","#
      + #""startTime":"\#(start)","endTime":"\#(end)","value":\#(value)}]}"#
    let record = try #require(try SyncBatch.read(Array(text.utf8)).records?.first)
    #expect(Self.hex(record.hashInput) == hash)
  }

  @Test func `the hash of a workout matches the contract`() throws {
    let text =
      #"{"dataType":"t","workouts":[{"workoutType":"HKWorkoutActivityTypeRunning","#
      + #""sourceName":"Apple Watch","startTime":"2026-01-18T12:00:00Z","#
      + #""endTime":"2026-01-18T12:30:34Z","durationSeconds":1834.27}]}"#
    let workout = try #require(try SyncBatch.read(Array(text.utf8)).workouts?.first)
    #expect(
      Self.hex(workout.hashInput)
        == "d06dcad2c1d4c1f7eeb6c6240cb6be28682c5c5cfef62d9e1c1db19173c6202f")
  }

  private static func hex(_ text: [UInt8]) -> String {
    SyncHasher().hash(text).bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      .joined()
  }
}
