"""Words in the names of columns and labels, in six languages, and what they say about a column.

An entry is a word (``age``), the beginning of one (``ethnic*``) or its end (``*kids``), words in a row (``months
since``), a whole name (``=left``), a stem that counts wherever it stands (``~bankrupt``), for names without
gaps, or a rule of which words count (``/late \\d+/``), for the short hand of statisticians.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

_CAMEL = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_JOINTS = re.compile(r"(?<=\w)[_.\-]+(?=\w)")
_SEAM = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GAP = re.compile(r"[^a-z0-9]+")
_UMLAUTS = (str.maketrans("äöü", "aou"), {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"})


def words_of(name: str) -> list[str]:
    """A name in its words: camelCase, snake_case and gaps taken apart, accents and capitals taken off."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = plain.replace("ß", "ss")
    return [word for word in _GAP.split(_CAMEL.sub(" ", plain).casefold()) if word]


def spoken(name: str) -> str:
    """A name as a sentence has it: ``annual_income`` and ``annualIncome`` are "annual income"."""
    bare = name.strip("_.- ")
    apart = _JOINTS.split(bare)
    if len(apart) == 1:
        apart = _SEAM.split(bare)
        if bare[:1].islower():  # capitals of camelCase are seams; any other are the writer's own
            apart = [word if word.isupper() else word.lower() for word in apart]
    return " ".join(apart) if all(len(word) > 1 or word.isdigit() for word in apart) else name


def has_word(words: Sequence[str], lexicon: Iterable[str]) -> bool:
    """Whether a name, in its words, has an entry of a lexicon."""
    return first_word(words, lexicon) is not None


def first_word(words: Sequence[str], lexicon: Iterable[str]) -> str | None:
    """The first entry of a lexicon that a name has, as the name has it."""
    joined, plain = "".join(words), " ".join(words)
    spaced = f" {plain} "
    for entry in lexicon:
        if entry.startswith("~"):
            if entry[1:] in joined:
                return entry[1:]
        elif entry.startswith("/"):
            rule = _rule(entry[1:-1]).search(plain)
            if rule is not None:
                return rule.group()
        elif entry.startswith("="):
            if entry[1:] == plain:
                return plain
        elif entry.startswith("*"):
            found = next((w for w in words if w.endswith(entry[1:])), None)
            if found is not None:
                return found
        elif entry.endswith("*") and " " in entry:
            if f" {entry[:-1]}" in spaced:
                return entry[:-1]
        elif entry.endswith("*"):
            found = next((w for w in words if w.startswith(entry[:-1])), None)
            if found is not None:
                return found
        elif f" {entry} " in spaced:
            return entry
    return None


@functools.cache
def _rule(text: str) -> re.Pattern[str]:
    """A rule of a lexicon, which takes whole words."""
    return re.compile(rf"\b(?:{text})\b")


@functools.cache
def entries(text: str) -> tuple[str, ...]:
    """Entries; one with an umlaut counts as `words_of` leaves it and as a keyboard without umlauts has it."""
    parts = (part.strip() for part in text.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(part.translate(how) for part in parts if part for how in _UMLAUTS))


NEGATIONS = entries("not, no, non, un, nicht, kein, ne, pas, nao, mai")

GOOD_OUTCOMES = entries("""
    approve*, accept*, grant*, accord, accordo, good, paid, repaid, repay, current, solvent, funded,
    admitted, hired,
    healthy, benign
    success*, pass, passed, eligible, qualified, creditworthy, retained, survived, fulfilled, originated
    genehmigt, bewilligt, angenommen, gut, zugesagt, bezahlt, kreditwürdig
    approuve*, accorde*, bon, bonne, paye, rembourse, octroye*
    aprobad*, aceptad*, bueno, buena, pagado, concedid*, otorgad*
    aprovad*, aceit*, bom, boa, pago, concedid*
    approvat*, accettat*, buono, buona, pagato, concess*""")
"""Outcomes that people want."""

BAD_OUTCOMES = entries("""
    deny, denied, denial, default*, bad, reject*, refus*, decline*, charged off, ~chargedoff, ~chargeoff,
    late
    delinq*, arrears, churn*, fraud*, fail*, bankrupt*, insolvent, insolvency, recid*, reoffend*, malignant,
    risk*, attrition
    dropout, drop out, died, dead, death, loss, lost, unpaid, overdue, foreclos*, evict*, ~dlq, ~delinq,
    sick, disease
    terminated, fired, quit, cancel*, withdrawn, rearrest*, arrest*, violation, dflt*, deflt*, def, npl*, npa,
    nonperform*, non perform*, impaired, impairment, turned down, turneddown, nopay*, nonpay*, non pay*,
    defrauded
    write off, writeoff*, written off, writtenoff, charge off, exit, exited, exits, leaver*, =left, lapse*,
    abandon*,
    unsubscri*, blacklist*, distress*, bkrpt*, bk, suspicious, laundering, spam, attack, intrusion, hacked
    guilty, jailed, reincarcerat*, incarcerat*, detain*, detention, relapse*, readmi*, mortality, stroke,
    cancer,
    tumor*, tumour*, diabet*, infect*, complication*, injur*, accident*, crash, dropped out, expelled,
    suspended,
    absent*, loan status, turnover
    abgelehnt, ablehnung*, schlecht, ausfall*, *ausfall, ausgefallen, *ausfalls, abwanderung*, abgewandert,
    storno*,
    storniert*, uneinbringlich, notleidend*, rückfall*, rückfällig*, krank, gescheitert, mahnung*, inkasso,
    pleite verweigert, gekündigt, kündigung, betrug, zahlungsverzug,
    insolvenz
    refuse*, rejete*, mauvais*, defaut, impaye*, faillite, fraude, retard, defaillan*, defaillance, resilie*,
    resiliation, contentieux, douteux, recidive*, licencie*, perdu*, surendett*, deces
    denegad*, rechazad*, malo, mala, impago*, moroso*, morosa*, morosidad, mora, incumpl*, quiebra, vencido*,
    mal pagador, fuga, desercion, abandono, baja, reincid*, despedid*, fallecid*, muerte
    negad*, recusad*, rejeitad*, mau, inadimpl*, fraude, atraso*, mau pagador, evasao, demitid*, obito
    negat*, rifiutat*, respint*, cattivo, cattiva, insolvente, insolvenza, sofferenza*, frode, abbandono,
    deteriorat*,
    mancato pagamento, licenziat*, recidiv*, morte, decess*, fallit*""")
"""Outcomes that people do not want: where a target is named so, 1 is not what is wanted."""

_COUNTED = (
    "(?:n|no|nb|nr|num|cnt|tot|is|has|non|not|un|never|ever|more|other|old|yng|young|avg|pct|perc|prop|share|"
    "appl)?"
)
_WHO = (
    "(?:male|female|femal|fem|woman|women|black|blk|white|asian|hisp|hispan|hispanic|latino|afam|married|marr|single|"
    "divorced|widowed|kid|kids|child|children|dep|deps|dependent|dependents|race|sex|gender)"
)
_CODED = "(?:status|stat|st|cat|grp|group|code|cd|lt|ge|gt|flag|ind|dummy|u|s|head|hd)?"


def _put_together(about: str) -> str:
    """A rule of words in a row without a gap, as in `nonwhite`, `blackfemale`, `racecd`, `kidslt` and `ndep`."""
    return f"/{_COUNTED}{_WHO}*{about}{_WHO}*{_CODED}/"


SEX = entries("""
    sex, gender, gndr, male, female, girl, boy, man, woman, men, women, mr, mrs, ~gender, salutation,
    ~pregnan*, ~pregnan,
    maternity
    geschlecht, anrede, mann, frau, weiblich, männlich, ~geschlecht, schwanger*
    sexe, genre, civilite, homme, femme, enceinte
    sexo, genero, hombre, mujer, embaraz*
    homem, mulher, gravid*, genere, sesso, uomo, donna, maschio, femmina, incinta""")
SEX += (_put_together("(?:male|female|femal|fem|woman|women|sex|gender)"),)
ORIGIN = entries("""
    race, races, racial, ethnic*, ~ethnic, black, white, asian, hispan*, hisp, latino, latina, latinx,
    caucasian,
    african*, afro*, afam, amerind*, pacific islander, islander, eskimo, aleut, native american, minority,
    minrty,
    *born, immig*, yrimmig
    nation*, ~nationality, citizen*, foreign*, immigra*, migrant, native, aboriginal, tribe, caste,
    mother tongue
    =skin, skin color, skin colour, skin tone, colour of skin, ancestry, indigenous
    rasse, herkunft, ~staatsangehörig, ~staatsbürger, ~nationalität, ausländ*, ~migration, hautfarbe
    ethnie, nationalite, etranger*, origine, citoyennete
    raza, etnia, nacionalidad, extranjer*, origen, ciudadania
    raca, nacionalidade, estrangeir*, origem, cidadania
    razza, nazionalita, stranier*, cittadinanza""")
ORIGIN += (_put_together("(?:black|blk|white|asian|hisp|hispan|hispanic|latino|afam|race)"),)
NO_ORIGIN = entries("""
    foreign exchange, foreign currency, foreign transaction*, foreign trade, foreign investment*, black box,
    black friday, white collar, white label, white wine, white goods, nationwide, native app, native ad*,
    minority interest, minority stake, senior citizen, race time*, race distance, race track,
    auslandsuberweisung*,
    new born, newborn, unborn""")
FAITH = entries("""
    relig*, church, faith, muslim, jewish, christian, orientation, lgbt*, politic*, party affiliation,
    union member, veteran
    konfession, kirche, gewerkschaft, orientierung, croyance, eglise, orientacion, iglesia, orientacao,
    igreja, chiesa
    sindacato, sindicato, syndicat""")
HEALTH = entries("""
    disab*, ~disability, handicap*, illness, genetic*, genotyp*, pregnant, hiv, aids, vih, sida, diabet*,
    cancer,
    epilep*, asthma, hepatitis, psychiatr*, dementia, sclerosis, comorbid*, chronic, diagnos*, heart disease,
    heart failure, medical condition*, health status, health condition*, mental health, ~gesundheitszustand,
    schwerbehind*
    behinder*, ~behinderung, krank*, maladie, invalid*, discapac*, enfermedad, deficien*, doenca, disabil*,
    malattia""")
NO_HEALTH = entries(
    "~insur, ~versicher, ~assuranc, ~seguro, ~assicuraz, krankenkasse*, screening, clinic*, deficiency balance"
)
FAMILY = entries("""
    ~marital, ~married, *marr, marrstat*, marst*, marriage*, spous*, ~spouse, husband*, husb, wife*, nwife*,
    single, widow*, divorce*, separated, never married, cohabit*, partner status, partnerstatus, has partner,
    =partner, lives with partner, ~dependent, ~dependant, people liable, number people
    dep, deps, children, child, kid*, *kid, *kids, nchild*, cnt child*, parents, orphan, pstatus
    personal status, relationship, civil status, civilstatus, family status
    familienstand, ~familienstand, zivilstand, verheiratet, ledig, geschieden, verwitwet, kinder, kinderzahl,
    unterhaltspflichtig*, ~anzahlkinder, ~kinderanzahl, ehepartner*, ehegatte*, lebenspartner*
    situation familiale, etat civil, ~etatcivil, matrimonial*, marie, celibataire, divorce, pacse*, enfants,
    enfant, nbenf*, nb enf, personnes a charge, conjoint, conjointe
    estado civil, ~estadocivil, edo civil, casad*, solter*, hijos, hijo, dependientes, conyuge, viud*,
    divorciad*, cargas familiares, pareja
    solteir*, filhos, dependentes, conjuge, viuv*
    stato civile, ~statocivile, sposat*, celibe, nubile, figli, coniuge, vedov*, a carico""")
FAMILY += (
    _put_together(
        "(?:married|marr|single|divorced|widowed|kid|kids|child|children|dep|deps|dependent|dependents)"
    ),
    "/hus(?:b|band)?(?:age|educ|ed|wage|inc|hrs|hours|occ\\w*|race|empl\\w*)/",
)
NO_FAMILY = entries("""
    single famil*, single premium, single payment, single purpose, single trip, single account, single largest,
    largest single, single entry, single item, dep time, dep delay, dep airport, dep date, dep hour,
    parent compan*,
    total relationship, relationship count, relationship length, relationship years, relationship months,
    relationship manager, relationship duration, relationship tenure, relationship type, relationship score,
    relationship value, relationship with, customer relationship, bank relationship, banking relationship,
    business relationship, client relationship, kidney*""")
HOUSEHOLD = entries("""
    family size, famsize, fam size, fsize, ~familysize, family members, fam members, ~familymembers,
    ~membersoffamily,
    household size, hh size, hhsize, ~householdsize, household members, hh members, persons in household,
    haushalt, ~haushaltsgrösse, haushaltsmitglied*, personen im haushalt, ~personenimhaushalt, foyer,
    taille menage,
    taille du menage
    hogar, nucleo familiar, miembros familia, tamano familia, grupo familiar, agregado familiar,
    nucleo familiare,
    componenti famiglia, membros familia""")
AGE = entries("""
    age, ages, aged, age group, dob, mob, birth*, ~birth, brth*, bthyr, bthmo, ~dateofbirth, born, *born, yob,
    senior citizen, pensioner, minor
    alter, geburt*, ~geburts, gebjahr, gebdat*, geb dat*, geb jahr, geb datum, jahrgang, rentner*
    age, naissance, naiss, ne le, date naissance, tranche age, retraite*
    edad, nacimiento, ~nacimiento, fecha nac, fec nac, fnac, grupo edad, jubilado
    idade, nascimento, ~nascimento, faixa etaria
    eta, nascita, ~nascita, fascia eta""")
AGE += (
    "/(?:cust|customer|client|appl|applicant|borrower|person|resp|log|ln|min|max|mean|med|avg|yr|head|hh|ref|own|emp|"
    "employee|pt|pat|patient|driver)?age(?:sq|squared|cat|category|grp|group|class|band|bracket|bin|range|yr|yrs|years|"
    "cent|c|d|z|std|sd|ln|gt|lt|ge|le|over|under|u|d)?/",
    "/(?:kunden|lebens|antragsteller|kreditnehmer|patienten|eintritts|personen|mitarbeiter|bewerber)?"
    "alter(?:s?(?:gruppe|klasse|stufe|kategorie|band))?/",
)
OF_A_THING = entries("""
    account, acct, car, vehicle, auto, house, home, building, property, loan, line, lines, trade, trades,
    credit, file, card, policy
    company, business, firm, oldest, newest, device, customer relationship, membership, konto, kredit,
    housing, dwelling, roof, boat, bike, machine, equipment, invoice, receivable*, asset, inventory,
    contract, product
    fahrzeug*, ~fahrzeug, auto, immobilie*, gebäude*, ~gebäude, haus, wohnung, vertrag, konto*
    compte, logement, maison, voiture, vehicule, bien, contrat, immeuble
    cuenta, conta, conto, coche, vehiculo, carro, casa, vivienda, inmueble, veiculo, veicolo, immobile,
    contrato,
    contratto, minor repair*, minor damage*, minor issue*, minor defect*, minor injur*""")
"""What else has an age, which a person does not share."""
MONEY = entries("""
    income, incomes, ~income, expense*, spending, budget, debt, wealth, assets, rent, einkommen, ausgaben,
    miete,
    revenu, revenus, ressources, charges, depenses, loyer, ingreso, ingresos, gasto, gastos, renta, deuda,
    renda,
    gastos, despesa*, reddito, spese, affitto""")
"""What a household has or spends, which is not who is in it."""
PROTECTED = (
    ("sex", SEX, ()), ("origin", ORIGIN, NO_ORIGIN), ("faith or conviction", FAITH, ()),
    ("health", HEALTH, NO_HEALTH), ("family", FAMILY, NO_FAMILY), ("family", HOUSEHOLD, MONEY),
    ("age", AGE, OF_A_THING),
)  # fmt: skip
"""What nobody may be asked to change, and what is no reason of a refusal; last, beside which words it is not."""

PLACE = entries("""
    zip, ~zipcode, zip code, postal, ~postcode, ~postal, postcode, post code, county, city, town, state,
    addr state, region, province
    district, neighbourhood, neighborhood, ~neighbo, borough, tract, censustract, ward, country, latitude,
    longitude, lat, lon, lng
    address, street, metro, msa, smsa, rural, urban, village, branch, fips, statefip*, puma, geoid, zcta, lsoa,
    census block, suburb*, centcity, outercity, inner city, northcen, newengl*
    plz, ~postleitzahl, ort, wohnort, stadt, land, bundesland, gemeinde, strasse, kreis, filiale
    code postal, ~codepostal, ville, pays, departement, commune, adresse, rue
    codigo postal, ~codigopostal, ciudad, pais, provincia, municipio, direccion, calle, barrio
    cep, cidade, estado, endereco, bairro, municipio, uf
    =cap, citta, paese, comune, indirizzo, provincia, regione""")
PLACE += ("/(?:north|south|east|west|midwest|midatl\\w*)(?:east|west|central|ern)?/",)
PAST = entries("""
    ~bankrupt, ~delinq, delq*, dlq*, ~foreclos, ~chargeoff, ~chargedoff, ~repossess, ~derog, ~inquir,
    ~enquir, inq, inqs, inqexcl,
    ~pubrec, public record, public records, ~insolven, defaults, in default, has default, =default, dpd, ccj*
    past, past due, ~pastdue, ~dayslate, times late, late payments, ~latepay, prior, priors, previous, prev,
    history, hist, *hist, ever, arrest*, failures, charge degree, charge desc*, c charge, criminal charge*,
    misdemean*, prison*, jail*, incarcerat*, probation*, parole*, months unemployed, weeks unemployed,
    days unemployed
    convict*, felon*, crime*, offen*, offence*, offense*, sentence*, ~recid, juv, juvenile, collections,
    collection, judgment, judgement, liens, lien
    total paid, total spent, total charges, total payments, lifetime, cumul*, to date, ytd
    last default, number of defaults, defaulted, had default, missed payments, served, accident*, claims,
    campaign, pdays, poutcome, rejected before
    vorstrafe*, ~mahnung, ~pfändung, früher*, bisherig*, vergangen*, ~rückstand, ~schufaeintr,
    verzug*, zahlungshistorie
    faillite*, incident*, impaye*, retard*, anterieur*, precedent*, passe, antecedent*, historique
    quiebra*, antecedente*, anterior*, previo*, previa*, pasad*, moros*, impago*, historial
    falencia*, atraso*, anterior*, passad*, historico, inadimpl*
    fallimento*, precedent*, passat*, insolut*, storico, protest*""")
PAST += (
    r"/(?:n|nb|nr|no|num|number|count|cnt|times|anz|anzahl|nombre|numero) (?:of )?(?:times )?late/",
    "/n[fp]?arr/",
    r"/late (?:of )?(?:payments?|days?|\d+)/",
    r"/\d+ (?:days? )?late/",
)
MACRO = entries("""
    unemployment, ~unemployment, *unemp, *unem, unempl, unemprate, unemrate, unemployrate, inflation, infl,
    cpi*, gdp*,
    gnp, pce, hpi, vix, euribor, libor, sofr, macro, macroecon*, economy, fedfund*, fed funds,
    federal funds, ffr, tbill*,
    t bill, treasury, emp var rate, cons price idx
    cons conf idx, consumer confidence, price index, base rate, prime rate, policy rate, market rate,
    industry rate, vacancy rate
    nr employed, index rate, mortgage rate, vr, exchange rate, recession, wirtschaft*, arbeitslosenquote,
    ~arbeitslosigkeit, ~arbeitslosenq, ~arbeitslosenrate, alq, leitzins*, basiszins*, konjunktur*, bip,
    verbraucherpreis*
    chomage, taux directeur, pib, paro, desempleo, tasa de paro, pbi, desemprego, selic, disoccupazione,
    tasso di riferimento, pil, inflacion, inflacao, inflazione""")
UPBRINGING = entries("""
    mother, father, mothers, fathers, medu, fedu, mjob, fjob, parental, parent, guardian, grandparent,
    sibling*, sibs, nsibs, momdad, momed*, daded*, meduc, feduc, mutter*, vater*, eltern*, mere, pere
    madre, padre, mae, pai, height, körpergrösse, ~birthweight, blood type, blood group, blutgruppe, genes,
    iq""")
UPBRINGING += (
    "/(?:moth|mother|fath|father|par|parent|parents|mom|dad)(?:educ|ed|occ|occup|job|inc|wage|coll|alc|age)/",
)
LENDER = entries("""
    interest rate, int rate, rate of interest, apr, ~zinssatz, sollzins*, taux interet, tasa interes,
    tasa de interes,
    taxa juros, taxa de juros, tasso interesse, sub grade, subgrade, loan grade, credit limit, limit bal,
    ~kreditlimit,
    ~kreditrahmen, limite credito, limite de credito, plafond""")
WORK = entries("""
    occupation, profession, job title, emp title, employment title, occup, beruf, berufe,
    ~berufsbezeichnung, metier,
    profesion, oficio, profissao, professione, mestiere""")
PURPOSE = entries("""
    purpose, ~purpose, zweck, ~verwendungszweck, ~kreditzweck, proposito, finalidad, finalidade, finalita,
    objet du pret, destino""")
CODES = entries("code, codes, naics, sic, soc, occ, isco, schlüssel, cod, codigo, codice")
"""Numbers that stand for something, so that more is not more."""

FIXED = (
    ("a place", PLACE), ("the past, which cannot be undone", PAST),
    ("the economy, which nobody's own action changes", MACRO), ("upbringing or body", UPBRINGING),
    ("what the money is for, which nobody is asked to change", PURPOSE),
    ("what the other side sets", LENDER), ("somebody's trade, which nobody is asked to change", WORK),
)  # fmt: skip
"""What nobody can change by themselves, though it may be a reason."""

TIME = entries("""
    years, yrs, year, months, month, mths, mnths, days, weeks, tenure, seniority, experience, exper, expersq,
    duration employed, emp length, ~emplength, ~yearsat
    time at, time in, time since, since, ~monthssince, ~mthssince, ~dayssince, age, length of,
    months on book, longevity, ~tenure, employment length, yoe
    jahre, monate, tage, seit, ~beschäftigtseit, ~beschäftigungsdauer, ~dienstjahr, dauer,
    ~betriebszugehörig, berufserfahrung, alter
    annees, annee, mois, jours, depuis, anciennete, anos, meses, dias, desde, antiguedad, anios, experiencia
    tempo, desde, antiguidade, anni, mesi, giorni, anzianita, esperienza""")
TERM = entries("""
    term, terms, loan, duration, maturity, repayment, instalment*, installment*, laufzeit, duree, plazo,
    prazo, durata, remaining, left, requested
    until, per month, per year, monthly, annual, yearly, hours per week, payment, income, amount""")
"""Beside a word for time: no time that passes by itself, but one that is agreed, or money per time."""
BURDEN = entries("""
    existing loans, existing credits, open loans, active loans, outstanding loans, other loans,
    bestehende kredite,
    laufende kredite, credits en cours, creditos vigentes, prestamos vigentes, uso credito, uso del credito
    debt, debts, ~debtto, ~debtratio, dti, indebted*, liabilit*, owed, owing, obligation*, utilisation,
    utilization, ~utiliz, ~utilis, overdraft, leverage, loan to value, ltv, loan to price, loan to income, lti,
    payment to income, pti, expense ratio
    schulden, verschuldung*, schuldenquote, verbindlichkeiten, ~verschuldung, beleihung*
    dette, dettes, endettement, ~endettement, decouvert
    deuda, deudas, endeudamiento, divida, dividas, endividamento, debito, debiti, indebitamento""")
"""What weighs on a person: nobody is advised to have more of it."""
NO_BURDEN = entries("coverage, cover, dscr, service, paid, repaid, settled, forgiven, collected, receivable*")
MEANS = entries("""
    income, incomes, salary, wage, wages, earnings, savings, assets, net worth, networth, wealth, down payment,
    account balance, bank balance, checking balance, savings balance, kontostand*, guthaben, ~guthaben, solde,
    saldo cuenta, saldo conto, saldo medio, saldo bancario
    fico, credit score, creditscore, bureau score, schufa score, ~schufascore, =schufa
    ~downpayment, ~annualinc, ~monthlyinc, annual inc, ~income, faminc, hhinc, totinc, netinc, grossinc, inctot,
    incwage, wage*
    einkommen, ~einkommen, gehalt, lohn, ~monatsgehalt, ~jahresgehalt, ersparnis*, ~vermögen,
    eigenkapital, anzahlung
    revenu, revenus, salaire, epargne, patrimoine, apport
    ingreso, ingresos, salario, sueldo, ahorro, ahorros, patrimonio, renda, rendimento, poupanca
    reddito, redditi, stipendio, risparmi, risparmio, gehalter""")
MEANS += (
    "/(?:l|ln|log|hr|app|appl|atot|cotot|tot|fam|lfam|hh|net|gross|mon|mth|monthly|ann|annual|yearly)?"
    "(?:wage|inc|income|salary|earn|earnings)(?:sq)?/",
)
"""What a person lives on: nobody is advised to have less of it."""
NO_MEANS = entries(
    "tax, taxes, ratio, share, percent, rank, decile, to income, steuer, impot, impuesto, imposto, imposta"
)

LEARNING = entries("""
    education, educ*, edu, schooling, school, hschool, high school, nodegree, degree, diploma, qualification*,
    grade completed, studies, training, certificate, literacy, college, university
    bildung, ausbildung, schulabschluss, abschluss, studium, etudes, formation, diplome, niveau etude
    educacion, estudios, titulo, formacion, educacao, escolaridade, estudos, formacao, istruzione, studi,
    titolo di studio, scolarita""")
NO_LEARNING = entries("""
    charge, offen*, crime, burn, angle, polynomial, temperature, latitude, degree of, in degree,
    out degree, vertex,
    node, average degree, severity""")
PERSONAL_NAME = entries("""
    first name, firstname, last name, lastname, surname, full name, fullname, given name, family name,
    =name, vorname,
    nachname, familienname, =nom, prenom, nom famille, =nombre, nombres, apellido*, primer nombre, cognome,
    sobrenome""")
OWN_DEED = entries("""
    login*, visit*, order*, purchase*, contact*, activity, active, transaction*, session*, deposit,
    anmeldung, einkauf,
    besuch, achat, visite, compra*, acquist*""")
"""Beside a word for time since: of what a person may do today."""
SINCE = entries("since, ~monthssince, ~mthssince, ~dayssince, seit, depuis, desde")
EVENT = (*SINCE, *entries("last, letzt*, dernier*, ultim*"))
"""Beside a word for time: of an event that may never have been."""
IDENTIFIER = entries("""
    id, ids, uid, uuid, guid, identifier, rownames, rowname, row names, rowid, unnamed, ssn, iban,
    account number, acct no, account no, ~accountnumber
    customer number, application number, case number, reference number, passport, email, phone, telephone,
    mobile, url, hash, key, serial, record number
    =index, row index, record index, seqn, seqno, sequence, lfd, lfdnr, nummer, kennung, kundennummer,
    aktenzeichen, matricule,
    identifiant, numero de dossier
    identificador, dni, nif, cpf, cnpj, codice fiscale, matricola""")
