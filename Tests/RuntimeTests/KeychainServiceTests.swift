import HoldfastSocket
import Testing

/// Tests of the names under which a keychain keeps secrets.
@Suite struct KeychainServiceTests {
  @Test(arguments: [
    ("/var/mobile/Containers/Data/Application/1B2/Library/x/", "Library/x"),
    ("/private/var/mobile/Containers/Data/Application/9F/./Library//x", "Library/x"),
    ("/var/mobile/Containers/Shared/AppGroup/3C/x", "x"),
    (
      "/Users/a/Library/Developer/CoreSimulator/Devices/D/data/Containers/Data/Application/A/Containers/x",
      "Containers/x"
    ),
    (
      "/Users/a/Library/Containers/app.example/Data/x",
      "Users/a/Library/Containers/app.example/Data/x"
    ),
    ("/var/Containers/Data/Application", "var/Containers/Data/Application"),
    ("x/y", "x/y"), ("", ""),
  ])
  func `a name contains only the path inside the app's container`(directory: String, place: String)
  {
    #expect(
      KeychainService.name(bundle: "app.example", directory: directory) == "app.example \(place)")
    #expect(KeychainService.name(bundle: nil, directory: directory) == "holdfast \(place)")
  }
}
