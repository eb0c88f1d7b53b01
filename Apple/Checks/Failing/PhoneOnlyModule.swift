// fails on macos: UIKit
import UIKit

func name() -> String { "" }
