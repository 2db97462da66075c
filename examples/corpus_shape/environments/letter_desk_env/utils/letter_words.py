"""What every letter of this desk begins with."""

BEGINNING = ["Dear Ms. Novák,", "", "thank you for your letter of the third."]
